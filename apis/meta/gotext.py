"""JSON values as Go prints them in messages, `%v`, `%#v` and `%T`, and numbers as it reads them.

A value that a client sent may be megabytes; a message shows no more than its beginning.
"""

from collections.abc import Sequence
from typing import Any, Final

from apis.meta.fields import go_quote, show

_MAX_SHOWN: Final = 1024
"""Characters of one value."""


def go_value(value: Any) -> str:
    """`%v`: `map[a:1 b:[x y]]`."""
    return _cut(_plain(value))


def go_syntax(value: Any) -> str:
    """`%#v`: `map[string]interface {}{"a":1}`."""
    return _cut(_syntax(value))


def go_type(value: Any) -> str:
    """`%T`."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int64"
        case float():
            return "float64"
        case list():
            return "[]interface {}"
        case dict():
            return "map[string]interface {}"
        case _:
            return "<nil>"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def _plain(value: Any) -> str:
    match value:
        case None:
            return "<nil>"
        case str():
            return value
        case list():
            return f"[{' '.join(_plain(item) for item in value)}]"
        case dict():
            return f"map[{' '.join(f'{key}:{_plain(value[key])}' for key in sorted(value))}]"
        case _:
            return show(value)


def _syntax(value: Any) -> str:
    match value:
        case None:
            return "interface {}(nil)"
        case str():
            return go_quote(value)
        case list():
            return f"[]interface {{}}{{{', '.join(map(_syntax, value))}}}"
        case dict():
            items = (f"{go_quote(key)}:{_syntax(value[key])}" for key in sorted(value))
            return f"map[string]interface {{}}{{{', '.join(items)}}}"
        case _:
            return show(value)


def strconv_fault(function: str, text: str, why: str) -> str:
    return f"strconv.{function}: parsing {go_quote(text)}: {why}"


def parse_uint(text: str) -> int:
    """`strconv.ParseUint` of 64 bits. Raises ValueError in its words."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(strconv_fault("ParseUint", text, "invalid syntax"))
    # Python refuses to convert thousands of digits.
    if len(text) > 20 or int(text) >= 2**64:
        raise ValueError(strconv_fault("ParseUint", text, "value out of range"))
    return int(text)


def go_quoted(texts: Sequence[str]) -> str:
    """`%q` of a list of texts: `["a" "b"]`."""
    return f"[{' '.join(map(go_quote, texts))}]"


def is_true(text: str) -> bool:
    """What `strconv.ParseBool` reads as true."""
    return text in ("1", "t", "T", "true", "TRUE", "True")


def is_false(text: str) -> bool:
    """What `strconv.ParseBool` reads as false."""
    return text in ("0", "f", "F", "false", "FALSE", "False")
