"""What a scalar of YAML is in JSON, by the resolver of sigs.k8s.io/yaml (YAML 1.1).

`yes`, `on` and `y` are booleans, `010` is 8, base-60 numbers and timestamps stay text.
"""

import base64
import binascii
import re
from functools import lru_cache
from typing import Any

from apis.meta.decoded import INT_MAX, INT_MIN, DecodeError, out_of_range, yaml_failure

TAG = "tag:yaml.org,2002:"

_WORDS: dict[str, Any] = {
    **dict.fromkeys(
        ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True
    ),
    **dict.fromkeys(
        ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False
    ),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_NOT_JSON = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_BASES = (16, 2, 8, 10)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NUMERIC_START = frozenset("+-.0123456789")


@lru_cache(maxsize=1024)
def _resolve_numeric(text: str) -> Any:
    if _NOT_JSON.fullmatch(text):
        raise DecodeError(f"error converting YAML to JSON: json: unsupported value: {text}")
    plain = text if text.startswith(".") else text.replace("_", "")
    if match := _INTEGER.fullmatch(plain):
        sign, *digits = match.groups()
        base, found = next((b, d) for b, d in zip(_BASES, digits, strict=True) if d is not None)
        value = int(f"{sign}{found}", base) if len(found) <= 64 else INT_MAX + 1
        if not INT_MIN <= value <= INT_MAX:
            raise out_of_range(text)
        return value
    if _FLOAT.fullmatch(plain):
        number = float(plain)
        if abs(number) != float("inf"):
            return number
    return text


def resolve(text: str) -> Any:
    """The value of a plain scalar."""
    if text[:1] in _NUMERIC_START:
        return _resolve_numeric(text)
    return _WORDS.get(text, text)


_TYPES: dict[str, tuple[type, ...]] = {
    "bool": (bool,), "int": (int,), "float": (float, int), "null": (type(None),),
    "timestamp": (str,),
}  # fmt: skip


def resolve_tagged(tag: str | None, text: str) -> Any:
    """A scalar that is quoted or has a tag. Tags that say nothing about JSON leave text."""
    short = (tag or "").removeprefix(TAG)
    if short == "binary":
        try:
            return base64.b64decode(text, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError) as e:
            raise yaml_failure("!!binary value contains invalid base64 data") from e
    if short not in _TYPES:
        return text
    value = resolve(text)
    if not isinstance(value, _TYPES[short]) or (isinstance(value, bool) and short != "bool"):
        raise yaml_failure(f"cannot decode `{text}` as a !!{short}")
    return float(text) if isinstance(value, int) and short == "float" else value
