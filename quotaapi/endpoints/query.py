"""Query parameters and DeleteOptions, decoded and judged as kube-apiserver does.

What it says about a wrong value is what clients have been written against: a number that is none is
a 400 in Go's words, a value that is not allowed a 422 that names the field. Decoding depends on the
text alone, so that the few texts which clients repeat are decoded once.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qs

from apis.meta import codec, errors, fields
from apis.meta.fields import FieldError
from apis.meta.gotext import parse_uint, strconv_fault
from apis.meta.managers import MAX_MANAGER_BYTES, manager_name
from apis.meta.structure import ABSENT
from quotaapi.registry.options import DeleteOptions, WriteOptions

Query = Mapping[str, Sequence[str]]

_MAX_PARAMETERS: Final = 100
_LONGEST_REMEMBERED: Final = 512
"""Longer texts are decoded each time, so that the memory of a cache is bounded in bytes."""
_FIELD_VALIDATIONS: Final = ("", "Ignore", "Strict", "Warn")
_PROPAGATIONS: Final = ("Foreground", "Background", "Orphan")
_INT64: Final = 2**63

EMPTY: Final[Query] = {}


def parse(text: str) -> Query:
    """Every parameter with its values. Raises 400 for one that is no text."""
    if not text:
        return EMPTY
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
    """None where it is absent or empty. Raises 400 in the words of Go's strconv."""
    text = first(query, name)
    return parse_int(text) if text else None


def parse_int(text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        raise errors.bad_request(strconv_fault("ParseInt", text, "invalid syntax"))
    # Longer ones are out of range, and Python refuses to convert thousands of digits.
    if len(digits) > 40 or not -_INT64 <= int(text) < _INT64:
        raise errors.bad_request(strconv_fault("ParseInt", text, "value out of range"))
    return int(text)


def resource_version(text: str) -> int | None:
    """None where it is absent or empty: the newest.

    One that is no number is a 500 without a reason, as from kube-apiserver (for a list: see
    `list_resource_version`).
    """
    version, fault = _resource_version(text)
    if fault:
        raise errors.unclassified(fault)
    return version


def list_resource_version(text: str) -> int | None:
    """As `resource_version`, but for a list, which answers 400."""
    version, fault = _resource_version(text)
    if fault:
        raise errors.bad_request(f"invalid resource version: {fault}")
    return version


def _resource_version(text: str) -> tuple[int | None, str]:
    if not text:
        return None, ""
    try:
        return parse_uint(text), ""
    except ValueError as error:
        return None, str(fields.invalid("resourceVersion", text, str(error)))


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
    faults += [*_manager_faults(manager), *_dry_run_faults(query.get("dryRun", ()))]
    validation = first(query, "fieldValidation")
    if validation not in _FIELD_VALIDATIONS:
        faults.append(fields.not_supported("fieldValidation", validation, _FIELD_VALIDATIONS))
    _refuse(kind, faults)
    return WriteOptions(
        dry_run=any(query.get("dryRun", ())),
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


def _dry_run_faults(values: Sequence[str]) -> list[FieldError]:
    if all(value in ("", "All") for value in values):
        return []
    return [fields.not_supported("dryRun", list(values), ("All",))]


def _manager_faults(manager: str) -> list[FieldError]:
    faults = []
    if len(manager.encode()) > MAX_MANAGER_BYTES:
        faults.append(fields.too_long("fieldManager", MAX_MANAGER_BYTES))
    if not manager.isprintable():
        why = "should not contain non-printable characters"
        faults.append(fields.invalid("fieldManager", manager, why))
    return faults


def _refuse(kind: str, faults: Sequence[FieldError]) -> None:
    if faults:
        raise errors.invalid(kind, "meta.k8s.io", "", faults)


def delete_options(text: str, body: Any = ABSENT) -> DeleteOptions:
    """Of the decoded body, or of the query where there is no body."""
    given = _query_options(parse(text)) if body is ABSENT else _body_options(body)
    faults = _dry_run_faults(given["dryRun"]) + _propagation_faults(given)
    _refuse("DeleteOptions", faults)
    policy: str = given["propagationPolicy"]
    if (orphan := given["orphanDependents"]) is not None:
        policy = "Orphan" if orphan else "Background"
    preconditions = given["preconditions"]
    return DeleteOptions(
        dry_run=any(given["dryRun"]),
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        propagation=policy,
        grace_period_seconds=given["gracePeriodSeconds"],
    )


def _propagation_faults(given: Mapping[str, Any]) -> list[FieldError]:
    policy = given["propagationPolicy"]
    if not policy:
        return []
    if given["orphanDependents"] is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        return [fields.invalid("propagationPolicy", policy, why)]
    if policy not in _PROPAGATIONS:
        return [fields.not_supported("propagationPolicy", policy, (*_PROPAGATIONS, "nil"))]
    return []


def _query_options(query: Query) -> dict[str, Any]:
    return {
        "dryRun": list(query.get("dryRun", ())),
        "propagationPolicy": first(query, "propagationPolicy"),
        "orphanDependents": boolean(query, "orphanDependents"),
        "gracePeriodSeconds": integer(query, "gracePeriodSeconds"),
        "preconditions": {},
    }


_OPTION_TYPES: Final[Mapping[str, tuple[type, str, Any]]] = {
    "dryRun": (list, "[]string", []),
    "propagationPolicy": (str, "string", ""),
    "orphanDependents": (bool, "bool", None),
    "gracePeriodSeconds": (int, "int64", None),
    "preconditions": (dict, "v1.Preconditions", {}),
}


def _body_options(given: Any) -> dict[str, Any]:
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise _mistyped("", given, "v1.DeleteOptions")
    if given.get("kind", "DeleteOptions") != "DeleteOptions":
        raise errors.bad_request("decoded object cannot be converted to DeleteOptions")
    options: dict[str, Any] = {}
    for key, (wanted, go_type, default) in _OPTION_TYPES.items():
        value = given.get(key)
        if value is None:
            value = default
        elif not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise _mistyped(key, value, go_type)
        options[key] = value
    texts = {
        **{f"preconditions.{key}": options["preconditions"].get(key) for key in ("uid", "resourceVersion")},
        **{f"dryRun[{index}]": value for index, value in enumerate(options["dryRun"])},
    }  # fmt: skip
    for key, value in texts.items():
        if value is not None and not isinstance(value, str):
            raise _mistyped(key, value, "string")
    return options


def _mistyped(key: str, value: object, go_type: str) -> errors.StatusError:
    found = codec.json_type(value)
    where = f"Go struct field DeleteOptions.{key}" if key else "Go value"
    return errors.bad_request(f"json: cannot unmarshal {found} into {where} of type {go_type}")
