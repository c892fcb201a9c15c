import pytest

from apis.meta import fields
from apis.meta.fields import ErrorType, FieldError


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        (fields.required("p"), "FieldValueRequired", "Required value"),
        (fields.required("p", "say it"), "FieldValueRequired", "Required value: say it"),
        (fields.invalid("p", "x", "bad"), "FieldValueInvalid", 'Invalid value: "x": bad'),
        (fields.invalid("p", 0, ""), "FieldValueInvalid", "Invalid value: 0"),
        (
            fields.not_supported("p", "x", ["a", "b"]),
            "FieldValueNotSupported",
            'Unsupported value: "x": supported values: "a", "b"',
        ),
        (fields.not_supported("p", 5, []), "FieldValueNotSupported", "Unsupported value: 5"),
        (fields.duplicate("p", "x"), "FieldValueDuplicate", 'Duplicate value: "x"'),
        (fields.forbidden("p", "no"), "FieldValueForbidden", "Forbidden: no"),
        (fields.not_found("p", "x"), "FieldValueNotFound", 'Not found: "x"'),
        (
            fields.no_object("p", "Secret", "x", "ns"),
            "FieldValueNotFound",
            'Not found: "x": there is no Secret of this name in namespace "ns"',
        ),
        (
            fields.no_object("p", "CloudProfile", "x"),
            "FieldValueNotFound",
            'Not found: "x": there is no CloudProfile of this name',
        ),
        (
            fields.too_long("p", 128),
            "FieldValueTooLong",
            "Too long: may not be more than 128 bytes",
        ),
        (fields.too_long("p", 1), "FieldValueTooLong", "Too long: may not be more than 1 byte"),
        (fields.too_many("p", 5, 3), "FieldValueTooMany", "Too many: 5: must have at most 3 items"),
        (fields.too_many("p", 5, 1), "FieldValueTooMany", "Too many: 5: must have at most 1 item"),
        (
            fields.type_invalid("p", "array", "must be object"),
            "FieldValueTypeInvalid",
            'Invalid value: "array": must be object',
        ),
    ],
)
def test_each_fault_in_apimachinerys_words(error: FieldError, reason: str, message: str) -> None:
    assert (error.type, error.field, error.message) == (ErrorType(reason), "p", message)
    assert str(error) == f"p: {message}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x", '"x"'),
        ('say "hi"\\', r'"say \"hi\"\\"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x7f", r'"\x00\x7f"'),
        ("äß€😀", '"äß€😀"'),
        ("\u00a0\u200b\U000e0001", r'"\u00a0\u200b\U000e0001"'),
        (None, '"null"'),
        (True, "true"),
        (False, "false"),
        (-3, "-3"),
        (0.5, "0.5"),
        (3.0, "3"),
        (123456.5, "123456.5"),
        (1000000.0, "1e+06"),
        (-1234567.25, "-1.23456725e+06"),
        (1.5e-05, "1.5e-05"),
        (0.0001, "0.0001"),
        (1e21, "1e+21"),
        (0.0, "0"),
        (["Some"], '["Some"]'),
        ({"b": 1, "a": [None]}, '{"a":[null],"b":1}'),
    ],
)
def test_values_are_shown_as_go_prints_them(value: object, shown: str) -> None:
    assert fields.show(value) == shown
