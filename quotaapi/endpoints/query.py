"""Query parameters, and the options of writes, decoded and judged as kube-apiserver does.

What it says about a wrong value is what clients have been written against: a number that is none is
a 400 in Go's words, a value that is not allowed a 422 that names the field. Decoding depends on the
text alone, so that the few texts which clients repeat are decoded once.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qs

from apis.meta import errors, fields
from apis.meta.fields import FieldError
from apis.meta.gotext import parse_uint, strconv_fault
from apis.meta.managers import MAX_MANAGER_BYTES, manager_name
from quotaapi.registry.options import WriteOptions

Query = Mapping[str, Sequence[str]]

_MAX_PARAMETERS: Final = 100
_LONGEST_REMEMBERED: Final = 512
"""Longer texts are decoded each time, so that the memory of a cache is bounded in bytes."""
_FIELD_VALIDATIONS: Final = ("", "Ignore", "Strict", "Warn")
_BAD_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_INT64: Final = 2**63

EMPTY: Final[Query] = {}


def parse(text: str) -> Query:
    """Every parameter with its values. Raises 400 for one that cannot be read.

    Go's parser leaves out what it cannot read: a selector that was left out would select everything.
    """
    if not text:
        return EMPTY
    if "%" in text and (bad := _BAD_ESCAPE.search(text)):
        raise errors.bad_request(f'invalid query: invalid URL escape "{bad[0]}"')
    if ";" in text:
        raise errors.bad_request("invalid query: invalid semicolon separator in query")
    try:
        return parse_qs(
            text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_PARAMETERS
        )
    except ValueError as error:
        raise errors.bad_request(f"invalid query: {error}") from None


def first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def boolean(query: Query, name: str) -> bool | None:
    """None where it is absent. As kube: everything but `false` and `0` is true, empty text too."""
    values = query.get(name)
    if not values:
        return None
    return values[0].lower() not in ("false", "0")


def integer(query: Query, name: str) -> int | None:
    """None where it is absent. Raises 400 in the words of Go's strconv, for empty text too."""
    values = query.get(name)
    return parse_int(values[0]) if values else None


def parse_int(text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        raise errors.bad_request(strconv_fault("ParseInt", text, "invalid syntax"))
    # Longer ones are out of range, and Python refuses to convert thousands of digits.
    if len(digits) > 40 or not -_INT64 <= int(text) < _INT64:
        raise errors.bad_request(strconv_fault("ParseInt", text, "value out of range"))
    return int(text)


def resource_version(text: str) -> int | None:
    """None where it is absent or empty: the newest. Raises 400 for one that is no number."""
    if not text:
        return None
    try:
        return parse_uint(text)
    except ValueError as error:
        fault = fields.invalid("resourceVersion", text, str(error))
        raise errors.bad_request(f"invalid resource version: {fault}") from None


def get_options(text: str) -> int | None:
    """The version of a get. Raises 400."""
    return resource_version(first(parse(text), "resourceVersion")) if text else None


def _write_options(kind: str, text: str, user_agent: str, *, applies: bool = False) -> WriteOptions:
    short = len(text) + len(user_agent) <= _LONGEST_REMEMBERED
    return (_remembered if short else _decoded)(kind, text, user_agent, applies)


@lru_cache(maxsize=256)
def _remembered(kind: str, text: str, user_agent: str, applies: bool) -> WriteOptions:
    return _decoded(kind, text, user_agent, applies)


def _decoded(kind: str, text: str, user_agent: str, applies: bool) -> WriteOptions:
    query = parse(text)
    manager, force = first(query, "fieldManager"), boolean(query, "force")
    faults = []
    if applies and not manager:
        faults.append(fields.required("fieldManager", "is required for apply patch"))
    if kind == "PatchOptions" and not applies and force is not None:
        faults.append(fields.forbidden("force", "may not be specified for non-apply patch"))
    faults += [*_manager_faults(manager), *dry_run_faults(query.get("dryRun", ()))]
    validation = first(query, "fieldValidation")
    if validation not in _FIELD_VALIDATIONS:
        faults.append(fields.not_supported("fieldValidation", validation, _FIELD_VALIDATIONS))
    refuse(kind, faults)
    return WriteOptions(
        dry_run=bool(query.get("dryRun")),
        field_manager=manager_name(manager, user_agent),
        field_validation=validation or "Warn",
        force=bool(force),
    )


def create_options(text: str, user_agent: str) -> WriteOptions:
    """A client that names no field manager goes by its User-Agent."""
    return _write_options("CreateOptions", text, user_agent)


def update_options(text: str, user_agent: str) -> WriteOptions:
    return _write_options("UpdateOptions", text, user_agent)


def patch_options(text: str, user_agent: str) -> WriteOptions:
    """Of every patch but apply."""
    return _write_options("PatchOptions", text, user_agent)


def apply_options(text: str) -> WriteOptions:
    """An apply names its manager, and alone knows `force`."""
    return _write_options("PatchOptions", text, "", applies=True)


def dry_run_faults(values: Sequence[str]) -> list[FieldError]:
    """A dry run is asked for by `All`; whoever says anything else may mean one, and gets no write."""
    if all(value == "All" for value in values):
        return []
    return [fields.not_supported("dryRun", list(values), ("All",))]


def _manager_faults(manager: str) -> list[FieldError]:
    faults = []
    if len(manager.encode()) > MAX_MANAGER_BYTES:
        faults.append(fields.too_long("fieldManager", MAX_MANAGER_BYTES))
    at = 0  # in bytes, as Go counts
    for char in manager:
        if not char.isprintable():
            why = f"invalid character U+{ord(char):04X} (at position {at})"
            faults.append(fields.invalid("fieldManager", manager, why))
        at += len(char.encode())
    return faults


def refuse(kind: str, faults: Sequence[FieldError]) -> None:
    """Raises 422 where there are faults."""
    if faults:
        raise errors.invalid(kind, "meta.k8s.io", "", faults)
