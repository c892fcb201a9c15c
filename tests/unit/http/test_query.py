"""Query parameters and DeleteOptions."""

import pytest

from apis.meta.errors import StatusError
from quotaapi.endpoints import query
from quotaapi.registry.options import DeleteOptions, WriteOptions


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
            'fieldManager: Invalid value: "a\\ab": should not contain non-printable characters',
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
def test_a_resource_version_that_is_no_number_is_a_lists_400(text) -> None:
    assert refusal_of(query.list_resource_version, text).code == 400


def test_a_resource_version_that_is_no_number_has_elsewhere_no_reason() -> None:
    refusal = refusal_of(query.resource_version, "abc")

    assert (refusal.code, refusal.reason, refusal.message) == (
        500,
        "",
        'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    )


def test_bytes_that_are_no_text_are_a_400() -> None:
    assert refusal_of(query.parse, "a=%FF").code == 400


def test_a_delete_reads_its_query_where_it_has_no_body() -> None:
    text = "dryRun=All&propagationPolicy=Foreground&gracePeriodSeconds=30"

    assert query.delete_options(text) == DeleteOptions(
        dry_run=True, propagation="Foreground", grace_period_seconds=30
    )


def test_a_delete_with_a_body_ignores_its_query() -> None:
    body = {"preconditions": {"uid": "u", "resourceVersion": "7"}, "dryRun": ["All"]}

    assert query.delete_options("gracePeriodSeconds=x", body) == DeleteOptions(
        dry_run=True, uid="u", resource_version="7"
    )


def test_orphan_dependents_is_the_old_name_of_two_policies() -> None:
    orphan = query.delete_options("", {"orphanDependents": True})
    background = query.delete_options("", {"orphanDependents": False})

    assert (orphan.propagation, background.propagation) == ("Orphan", "Background")


@pytest.mark.parametrize(
    "body",
    [
        [],
        "text",
        {"kind": "Pod"},
        {"dryRun": "All"},
        {"dryRun": [1]},
        {"gracePeriodSeconds": "x"},
        {"gracePeriodSeconds": True},
        {"orphanDependents": "x"},
        {"preconditions": []},
        {"preconditions": {"uid": 1}},
    ],
)
def test_malformed_delete_options_are_a_400(body) -> None:
    assert refusal_of(query.delete_options, "", body).code == 400


@pytest.mark.parametrize(
    "body",
    [
        {"propagationPolicy": "Bogus"},
        {"propagationPolicy": "Background", "orphanDependents": True},
        {"dryRun": ["Some"]},
    ],
)
def test_delete_options_that_are_not_allowed_are_a_422(body) -> None:
    assert refusal_of(query.delete_options, "", body).code == 422
