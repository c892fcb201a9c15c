"""Field paths and what is wrong with a field: `field.Error` of apimachinery."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from itertools import islice
from math import isfinite

from apis.meta import codec
from apis.meta.values import valueclass


class ErrorType(StrEnum):
    """The `reason` of a Status cause, with the words that begin its message."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    TYPE_INVALID = "FieldValueTypeInvalid"


@valueclass
class FieldError:
    """One fault of one field. `field` is its path (`spec.metrics[cpu]`, `spec.limits[0].type`).

    `message` is the whole text without the path, in apimachinery's words:
    `Invalid value: "x": must be ...`, `Required value`, `Unsupported value: "x": supported values: ...`.
    Build it with the functions of this module, which quote the value as apimachinery does.
    """

    type: ErrorType
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def blame_defaults(errors: Sequence[FieldError], defaulted: Mapping[str, str]) -> list[FieldError]:
    """Of a fault at a field that the client left open, say whose default it is.

    `defaulted`: field path -> what it was filled in from.
    """
    return [
        FieldError(error.type, error.field, f"{error.message}; this is the default of {by}")
        if (by := defaulted.get(error.field)) is not None
        else error
        for error in errors
    ]


MAX_NOTES = 10


def notes_of_defaults(defaulted: Mapping[str, str]) -> list[str]:
    """For a refusal that is about no single field: what the client did not write, the first of it."""
    return [f"{path} is the default of {by}" for path, by in islice(defaulted.items(), MAX_NOTES)]


def required(path: str, detail: str = "") -> FieldError:
    return FieldError(ErrorType.REQUIRED, path, _join("Required value", detail))


def invalid(path: str, value: object, detail: str) -> FieldError:
    return FieldError(ErrorType.INVALID, path, _join(f"Invalid value: {show(value)}", detail))


def type_invalid(path: str, value: object, detail: str) -> FieldError:
    """A value of another type than the field's. `value` is what apimachinery shows: for a wrong
    JSON type the name of the type that was found (`"string"`), not the value itself."""
    return FieldError(ErrorType.TYPE_INVALID, path, _join(f"Invalid value: {show(value)}", detail))


def not_supported(path: str, value: object, allowed: Iterable[str]) -> FieldError:
    """`allowed` is listed in the given order; pass it sorted unless its order says something."""
    listed = ", ".join(go_quote(item) for item in allowed)
    detail = f"supported values: {listed}" if listed else ""
    message = _join(f"Unsupported value: {show(value)}", detail)
    return FieldError(ErrorType.NOT_SUPPORTED, path, message)


def duplicate(path: str, value: object) -> FieldError:
    return FieldError(ErrorType.DUPLICATE, path, f"Duplicate value: {show(value)}")


def forbidden(path: str, detail: str) -> FieldError:
    return FieldError(ErrorType.FORBIDDEN, path, _join("Forbidden", detail))


def not_found(path: str, value: object, detail: str = "") -> FieldError:
    return FieldError(ErrorType.NOT_FOUND, path, _join(f"Not found: {show(value)}", detail))


def no_object(path: str, kind: str, name: str, namespace: str = "") -> FieldError:
    """A reference to an object that is not there; says what was looked for, and where."""
    where = f" in namespace {go_quote(namespace)}" if namespace else ""
    return not_found(path, name, f"there is no {kind} of this name{where}")


def too_long(path: str, max_bytes: int) -> FieldError:
    unit = "byte" if max_bytes == 1 else "bytes"
    return FieldError(
        ErrorType.TOO_LONG, path, f"Too long: may not be more than {max_bytes} {unit}"
    )


def too_many(path: str, n: int, max_items: int) -> FieldError:
    unit = "item" if max_items == 1 else "items"
    return FieldError(
        ErrorType.TOO_MANY, path, f"Too many: {n}: must have at most {max_items} {unit}"
    )


def _join(text: str, detail: str) -> str:
    return f"{text}: {detail}" if detail else text


MAX_SHOWN = 4096
"""Characters of a value that a message shows: a value may be as long as a request's body."""


def show(value: object) -> str:
    """A value as an error message shows it: text quoted, plain numbers, the rest as JSON."""
    if isinstance(value, str):
        return go_quote(value if len(value) <= MAX_SHOWN else f"{value[:MAX_SHOWN]}...")
    if value is None:
        return '"null"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _go_float(value)
    return codec.encode_sorted(value).decode()


_ESCAPES = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f",
    "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip


def go_quote(text: str) -> str:
    """`text` in double quotes, escaped as Go's `%q` does."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(_ESCAPES.get(c) or _escape(c) for c in text)}"'


def _escape(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _go_float(value: float) -> str:
    """As Go's `%v`: the shortest digits that tell the value, an exponent from 1e+06 on and below
    1e-04; whole numbers without a fraction."""
    if value == 0 or not isfinite(value) or 1e-4 <= abs(value) < 1e6:
        return repr(value).removesuffix(".0")
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first, *rest = (str(digit) for digit in digits)
    fraction = f".{''.join(rest)}" if rest else ""
    return f"{'-' if sign else ''}{first}{fraction}e{int(exponent) + len(rest):+03d}"
