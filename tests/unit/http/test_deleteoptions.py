"""DeleteOptions: in the body, in the query, in both."""

import pytest

from apis.meta.errors import StatusError
from apis.meta.structure import ABSENT
from quotaapi.endpoints.deleteoptions import delete_options
from quotaapi.registry.options import DeleteOptions


def refusal_of(text: str, body: object = ABSENT) -> StatusError:
    with pytest.raises(StatusError) as caught:
        delete_options(text, body)
    return caught.value


def test_a_delete_reads_its_query_where_it_has_no_body() -> None:
    text = "dryRun=All&propagationPolicy=Foreground&gracePeriodSeconds=30"

    assert delete_options(text) == DeleteOptions(
        dry_run=True, propagation="Foreground", grace_period_seconds=30
    )


def test_a_query_may_name_preconditions() -> None:
    assert delete_options("uid=u&resourceVersion=7") == DeleteOptions(uid="u", resource_version="7")
    assert delete_options("uid=&resourceVersion=") == DeleteOptions()


def test_a_body_says_what_is_asked_for() -> None:
    body = {"preconditions": {"uid": "u", "resourceVersion": "7"}, "dryRun": ["All"]}

    assert delete_options("gracePeriodSeconds=5&uid=other", body) == DeleteOptions(
        dry_run=True, uid="u", resource_version="7"
    )


def test_a_dry_run_may_be_asked_for_beside_a_body() -> None:
    assert delete_options("dryRun=All", {}).dry_run


@pytest.mark.parametrize(
    "text", ["gracePeriodSeconds=x", "dryRun=x", "dryRun=", "propagationPolicy=x", "a=%zz"]
)
def test_a_query_that_cannot_be_read_deletes_nothing_whatever_the_body_says(text) -> None:
    assert refusal_of(text, {}).code == refusal_of(text).code


def test_an_empty_precondition_in_a_body_holds_of_no_object() -> None:
    assert delete_options("", {"preconditions": {"uid": ""}}) == DeleteOptions(uid="")


def test_orphan_dependents_is_the_old_name_of_two_policies() -> None:
    orphan = delete_options("", {"orphanDependents": True})
    background = delete_options("", {"orphanDependents": False})

    assert (orphan.propagation, background.propagation) == ("Orphan", "Background")


@pytest.mark.parametrize(
    "body",
    [None, {}, {"kind": None}, {"kind": "", "apiVersion": "v1"}, {"gracePeriodSeconds": None}],
)
def test_what_is_null_or_empty_asks_for_nothing(body) -> None:
    assert delete_options("", body) == DeleteOptions()


@pytest.mark.parametrize(
    "body",
    [
        [],
        "text",
        {"kind": "Pod"},
        {"kind": 5},
        {"apiVersion": 1},
        {"dryRun": "All"},
        {"dryRun": [1]},
        {"gracePeriodSeconds": "x"},
        {"gracePeriodSeconds": True},
        {"gracePeriodSeconds": 1.5},
        {"orphanDependents": "x"},
        {"propagationPolicy": 1},
        {"preconditions": []},
        {"preconditions": {"uid": 1}},
        {"ignoreStoreReadErrorWithClusterBreakingPotential": "x"},
    ],
)
def test_malformed_options_are_a_400(body) -> None:
    assert refusal_of("", body).code == 400


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"propagationPolicy": "Bogus"}, ["propagationPolicy"]),
        ({"propagationPolicy": ""}, ["propagationPolicy"]),
        ({"propagationPolicy": "Background", "orphanDependents": True}, ["propagationPolicy"]),
        ({"dryRun": ["Some"]}, ["dryRun"]),
        ({"dryRun": [""]}, ["dryRun"]),
        ({"dryRun": [None]}, ["dryRun"]),
        ({"dryRun": ["All", ""]}, ["dryRun"]),
        ({"dryRun": ["x"], "propagationPolicy": "x"}, ["propagationPolicy", "dryRun"]),
    ],
)
def test_options_that_are_not_allowed_are_a_422(body, fields) -> None:
    refusal = refusal_of("", body)

    assert refusal.code == 422
    assert [cause["field"] for cause in (refusal.details or {})["causes"]] == fields
