"""Query parameters and DeleteOptions."""

import pytest

from apis.meta.errors import StatusError
from quotaapi.endpoints import query
from quotaapi.registry.options import WriteOptions


def refusal_of(call, *arguments) -> StatusError:
    with pytest.raises(StatusError) as caught:
        call(*arguments)
    return caught.value


def test_a_create_without_parameters_warns_of_unknown_fields() -> None:
    assert query.create_options("", "") == WriteOptions(field_validation="Warn")


def test_a_write_takes_dry_run_manager_and_field_validation() -> None:
    text = "dryRun=All&fieldManager=kubectl%20edit&fieldValidation=Strict"
    options = query.update_options(text, "curl/8.0")

    assert options == WriteOptions(
        dry_run=True, field_manager="kubectl edit", field_validation="Strict"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dryRun=Some", 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        (
            "fieldValidation=Bogus",
            'fieldValidation: Unsupported value: "Bogus": '
            'supported values: "", "Ignore", "Strict", "Warn"',
        ),
        (f"fieldManager={'x' * 129}", "fieldManager: Too long: may not be more than 128 bytes"),
        (
            "fieldManager=a%07b",
            'fieldManager: Invalid value: "a\\ab": invalid character U+0007 (at position 1)',
        ),
        ("force=true", "force: Forbidden: may not be specified for non-apply patch"),
    ],
)
def test_a_wrong_parameter_is_a_422_of_its_options_kind(text, message) -> None:
    refusal = refusal_of(query.patch_options, text, "")

    assert refusal.code == 422
    assert refusal.message == f'PatchOptions.meta.k8s.io "" is invalid: {message}'


def test_force_is_no_fault_of_a_create() -> None:
    assert query.create_options("force=true", "").field_validation == "Warn"


def test_a_client_that_names_no_manager_goes_by_its_user_agent() -> None:
    assert query.create_options("", "kubectl/v1.32 (linux)").field_manager == "kubectl"


def test_an_apply_names_its_manager() -> None:
    refusal = refusal_of(query.apply_options, "")

    assert refusal.message == (
        'PatchOptions.meta.k8s.io "" is invalid: '
        "fieldManager: Required value: is required for apply patch"
    )


def test_an_apply_may_be_forced() -> None:
    assert query.apply_options("fieldManager=me&force=true").force


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("", 'strconv.ParseInt: parsing "": invalid syntax'),
        ("1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        ("٣", 'strconv.ParseInt: parsing "٣": invalid syntax'),
        (str(2**63), f'strconv.ParseInt: parsing "{2**63}": value out of range'),
    ],
)
def test_a_number_that_is_none_is_refused_in_the_words_of_go(text, message) -> None:
    refusal = refusal_of(query.parse_int, text)

    assert (refusal.code, refusal.message) == (400, message)


@pytest.mark.parametrize(("text", "number"), [("-1", -1), ("+7", 7), (str(2**63 - 1), 2**63 - 1)])
def test_a_number_is_read_with_its_sign(text, number) -> None:
    assert query.parse_int(text) == number


def test_a_number_of_thousands_of_digits_is_out_of_range() -> None:
    assert refusal_of(query.parse_int, "9" * 10_000).code == 400


@pytest.mark.parametrize("text", ["nope", "-1", "1" * 21, "1.0"])
def test_a_resource_version_that_is_no_number_is_a_400(text) -> None:
    refusal = refusal_of(query.resource_version, text)

    assert (refusal.code, refusal.reason) == (400, "BadRequest")
    assert refusal.message.startswith(
        f'invalid resource version: resourceVersion: Invalid value: "{text}": strconv.ParseUint'
    )


def test_bytes_that_are_no_text_are_a_400() -> None:
    assert refusal_of(query.parse, "a=%FF").code == 400


@pytest.mark.parametrize("text", ["a=%", "a=%2", "a=%zz", "%g1=a", "a=b;c=d", "a=b&c;d"])
def test_a_query_of_which_go_leaves_out_a_part_is_a_400(text) -> None:
    assert refusal_of(query.parse, text).code == 400


@pytest.mark.parametrize("text", ["dryRun=", "dryRun", "dryRun=All&dryRun=", "dryRun=all"])
@pytest.mark.parametrize("read", [query.create_options, query.update_options, query.patch_options])
def test_a_dry_run_is_asked_for_by_all_and_nothing_else(read, text) -> None:
    assert refusal_of(read, text, "").code == 422
    assert read("dryRun=All&dryRun=All", "").dry_run
    assert not read("", "").dry_run


def test_an_empty_number_is_none_at_all() -> None:
    assert query.integer(query.parse("a=1"), "limit") is None
    assert refusal_of(query.integer, query.parse("limit="), "limit").message == (
        'strconv.ParseInt: parsing "": invalid syntax'
    )
