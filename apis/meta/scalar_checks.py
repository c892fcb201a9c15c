"""Validation of single values: texts, numbers, quantities. See `apis.meta.checks`."""

import re
from collections.abc import Callable
from typing import Any

from apis.meta import fields, names, quantity, times
from apis.meta.fields import FieldError
from apis.meta.structure import (
    Boolean,
    Format,
    Integer,
    IntOrString,
    Node,
    Number,
    QuantityText,
    String,
)

Check = Callable[[Any, str, str, list[FieldError]], None]
"""(value, parent path, step from the parent such as `.name` or `[0]`, errors to add to)."""

QUANTITY_PATTERN = r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
"""The pattern that apimachinery names when it cannot read a quantity."""

MOST_QUANTITY = "1e100"
"""What no quantity may exceed: what is multiplied and summed from such amounts must still be text
that `quantity.parse` takes, which bounds its length."""

_JSON_TYPES: dict[type, str] = {
    str: "string", int: "integer", float: "number", bool: "boolean",
    list: "array", dict: "object", type(None): "null",
}  # fmt: skip


def scalar_check(node: Node) -> Check | None:
    """None where any value will do, and for what is no scalar."""
    match node:
        case String():
            return _check_string(node)
        case Integer():
            return _check_number(node, (int,), "integer")
        case Number():
            return _check_number(node, (int, float), "number")
        case Boolean():
            return _check_boolean
        case QuantityText():
            return _check_quantity(node)
        case IntOrString():
            return _check_int_or_string(node)
        case _:
            return None


def wrong_type(path: str, value: Any, wanted: str) -> FieldError:
    found = _JSON_TYPES.get(type(value), "unknown")
    return fields.type_invalid(path, found, f'{path} in body must be of type {wanted}: "{found}"')


def _check_string(node: String) -> Check:
    enum = frozenset(node.enum)
    allowed = sorted(node.enum)
    text_faults = _text_faults(node)

    def check(value: Any, parent: str, step: str, errors: list[FieldError]) -> None:
        if type(value) is str:
            if enum and value not in enum:
                errors.append(fields.not_supported(parent + step, value, allowed))
            for fault in text_faults:
                error = fault(value, parent, step)
                if error is not None:
                    errors.append(error)
            return
        path = parent + step
        errors.append(wrong_type(path, value, "string"))
        if enum and type(value) in (int, float, bool):
            errors.append(fields.not_supported(path, value, allowed))

    return check


_TextFault = Callable[[str, str, str], FieldError | None]


def _text_faults(node: String) -> tuple[_TextFault, ...]:
    faults: list[_TextFault] = []
    if node.min_length is not None or node.max_length is not None:
        faults.append(_length_fault(node.min_length or 0, node.max_length))
    if node.pattern is not None:
        faults.append(_pattern_fault(node.pattern))
    if node.format is not None:
        faults.append(_FORMAT_FAULTS[node.format])
    return tuple(faults)


def _length_fault(minimum: int, maximum: int | None) -> _TextFault:
    def fault(value: str, parent: str, step: str) -> FieldError | None:
        path = parent + step
        if maximum is not None and len(value) > maximum:
            return fields.too_long(path, maximum)
        if len(value) < minimum:
            detail = f"{path} in body should be at least {minimum} chars long"
            return fields.invalid(path, value, detail)
        return None

    return fault


def _pattern_fault(pattern: str) -> _TextFault:
    # `$` would also match before a final newline; RE2, which the pattern is published for, does not.
    search = re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern)).search

    def fault(value: str, parent: str, step: str) -> FieldError | None:
        if search(value) is not None:
            return None
        path = parent + step
        return fields.invalid(path, value, f"{path} in body should match '{pattern}'")

    return fault


def _date_time_fault(value: str, parent: str, step: str) -> FieldError | None:
    try:
        times.parse_rfc3339(value)
    except ValueError:
        path = parent + step
        detail = f"{path} in body must be of type date-time: {fields.go_quote(value)}"
        return fields.type_invalid(path, value, detail)
    return None


def _name_fault(problems: Callable[[str], list[str]]) -> _TextFault:
    def fault(value: str, parent: str, step: str) -> FieldError | None:
        found = problems(value)
        return fields.invalid(parent + step, value, found[0]) if found else None

    return fault


_FORMAT_FAULTS: dict[Format, _TextFault] = {
    Format.DATE_TIME: _date_time_fault,
    Format.DNS_LABEL: _name_fault(names.dns1123_label),
    Format.DNS_SUBDOMAIN: _name_fault(names.dns1123_subdomain),
}


def _check_number(node: Integer | Number, types: tuple[type, ...], wanted: str) -> Check:
    minimum, maximum = node.minimum, node.maximum

    def check(value: Any, parent: str, step: str, errors: list[FieldError]) -> None:
        if type(value) not in types:
            errors.append(wrong_type(parent + step, value, wanted))
        elif minimum is not None and value < minimum:
            path = parent + step
            detail = f"{path} in body should be greater than or equal to {minimum}"
            errors.append(fields.invalid(path, value, detail))
        elif maximum is not None and value > maximum:
            path = parent + step
            detail = f"{path} in body should be less than or equal to {maximum}"
            errors.append(fields.invalid(path, value, detail))

    return check


def _check_boolean(value: Any, parent: str, step: str, errors: list[FieldError]) -> None:
    if type(value) is not bool:
        errors.append(wrong_type(parent + step, value, "boolean"))


def _check_quantity(node: QuantityText) -> Check:
    minimum = None if node.minimum is None else quantity.nanos_of(node.minimum)
    most = MOST_QUANTITY if node.maximum is None else node.maximum
    maximum = quantity.nanos_of(most)

    def check(value: Any, parent: str, step: str, errors: list[FieldError]) -> None:
        if type(value) is not str:
            error = wrong_type(parent + step, value, "integer,string")
            if value is None and node.instead_of_null:
                error = fields.type_invalid(error.field, "null", node.instead_of_null)
            errors.append(error)
            return
        try:
            nanos = quantity.nanos_of(value)
        except ValueError:
            detail = f"quantities must match the regular expression '{QUANTITY_PATTERN}'"
            errors.append(fields.invalid(parent + step, value, detail))
            return
        if minimum is not None and nanos < minimum:
            detail = f"must be greater than or equal to {node.minimum}"
            errors.append(fields.invalid(parent + step, value, detail))
        elif nanos > maximum:
            detail = f"must be less than or equal to {most}"
            errors.append(fields.invalid(parent + step, value, detail))

    return check


def _check_int_or_string(node: IntOrString) -> Check:
    integer = _check_number(Integer(minimum=node.minimum), (int,), "integer")
    text = _check_string(String(pattern=node.pattern))

    def check(value: Any, parent: str, step: str, errors: list[FieldError]) -> None:
        if type(value) is int:
            integer(value, parent, step, errors)
        elif type(value) is str:
            text(value, parent, step, errors)
        else:
            errors.append(wrong_type(parent + step, value, "integer,string"))

    return check
