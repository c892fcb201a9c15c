"""A usage over its limit is lawful where the limit was lowered; growing there is not."""

import pytest

from apis.meta.keys import binding_ledger_key, object_key, quota_references_key
from apis.meta.transaction import Header, Object, Record, encode_body
from quotaapi.auditing.auditor import Auditor
from quotaapi.auditing.values import Change, Violation
from tests.builders import a_binding, a_quota, a_shoot, an_object

BINDING = ("crosssecretbindings", "garden-dev", "binding")


def stored(revision: int, key: str, obj: Object, **header: object) -> Change:
    body = encode_body(obj) if obj else b"{}"
    return key, Record(key, revision, 0, body, Header(**header))  # type: ignore[arg-type]


def at(revision: int, *, limit: int, used: int) -> list[Change]:
    """One shoot of `used` cpus, and every ledger in agreement with it."""
    charge = {"cpu": str(used)}
    hard = {"cpu": str(limit)}
    quota = a_quota(name="quota", metrics=hard) | {"status": {"hard": hard, "used": charge}}
    spec = {"quotaRef": {"namespace": "garden-trial", "name": "quota"}, "scope": "secret"}
    usage = an_object(
        "QuotaUsage",
        name="garden-trial.quota",
        namespace="garden-dev",
        spec=spec,
        status={"used": charge},
    )
    return [
        stored(revision, object_key("quotas", "garden-trial", "quota"), quota, charge=charge),
        stored(revision, quota_references_key("garden-trial", "quota"), {}, count=1),
        stored(revision, object_key(*BINDING), a_binding(quotas=["quota"])),
        stored(revision, binding_ledger_key(*BINDING), {}, charge=charge, count=1),
        stored(revision, object_key("shoots", "garden-dev", "shoot"), a_shoot(), charge=charge),
        stored(
            revision,
            object_key("quotausages", "garden-dev", "garden-trial.quota"),
            usage,
            charge=charge,
        ),
    ]


def verdict(*states: list[Change], growth: bool = True) -> list[Violation]:
    auditor = Auditor(growth=growth)
    found = auditor.load(1, [record for _, record in states[0] if record is not None])
    for revision, changes in enumerate(states[1:], start=2):
        found += auditor.apply(revision, changes)
    return found


def test_growth_beyond_the_limit_is_reported() -> None:
    found = verdict(at(1, limit=4, used=2), at(2, limit=4, used=6))

    assert [(v.revision, v.what, v.expected, v.found) for v in found] == [
        (2, "growth of cpu", "at most 4", "2 to 6")
    ]


def test_growth_is_reported_only_where_that_was_asked_for() -> None:
    assert verdict(at(1, limit=4, used=2), at(2, limit=4, used=6), growth=False) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(at(1, limit=4, used=2), at(2, limit=4, used=4), id="up to the limit"),
        pytest.param(at(1, limit=8, used=8), at(2, limit=4, used=8), id="a lowered limit"),
        pytest.param(at(1, limit=4, used=8), at(2, limit=4, used=6), id="shrinking above it"),
    ],
)
def test_lawful_changes_are_not_reported(before: list[Change], after: list[Change]) -> None:
    assert verdict(before, after) == []
