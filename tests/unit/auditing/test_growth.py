"""A usage over its limit is lawful where the limit was lowered; growing there is not."""

import pytest

from apis.meta.keys import binding_ledger_key, object_key, quota_references_key
from apis.meta.transaction import Header, Object, Record, encode_body
from quotaapi.auditing.auditor import Auditor
from quotaapi.auditing.values import Change, Violation
from tests.builders import a_binding, a_quota, a_shoot, a_worker, an_object

BINDING = ("crosssecretbindings", "garden-dev", "binding")


def stored(revision: int, key: str, obj: Object, **header: object) -> Change:
    body = encode_body(obj) if obj else b"{}"
    return key, Record(key, revision, 0, body, Header(**header))  # type: ignore[arg-type]


def at(revision: int, *, limit: int, used: int, machines: int = 0, more: int = 0) -> list[Change]:
    """A shoot charged `used` cpus, another charged `more` if any, and ledgers that agree with them.

    `machines`: what the first one demands, by default as many as cpus.
    """
    shoots = [(name, cpus) for name, cpus in (("shoot", used), ("other", more)) if cpus]
    charge = {"cpu": str(used + more)}
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
        stored(revision, binding_ledger_key(*BINDING), {}, charge=charge, count=len(shoots)),
        *(
            stored(
                revision,
                object_key("shoots", "garden-dev", name),
                a_shoot(name=name, workers=[a_worker(maximum=machines or used)]),
                charge={"cpu": str(cpus)},
            )
            for name, cpus in shoots
        ),
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


def test_a_shoot_whose_price_rose_above_the_limit_is_not_reported() -> None:
    dearer = at(2, limit=4, used=6, machines=2)

    assert verdict(at(1, limit=4, used=2, machines=2), dearer) == []


def test_what_was_admitted_beside_a_new_price_must_have_fitted_without_it() -> None:
    before = at(1, limit=4, used=2, machines=2)

    assert verdict(before, at(2, limit=4, used=3, machines=2, more=2)) == []
    [found] = verdict(before, at(2, limit=4, used=3, machines=2, more=3))
    assert (found.what, found.found) == ("growth of cpu", "2 to 5")


def test_what_was_admitted_beside_a_lower_price_must_have_fitted_after_it() -> None:
    before = at(1, limit=4, used=4, machines=4)

    assert verdict(before, at(2, limit=4, used=2, machines=4, more=2)) == []
    [found] = verdict(before, at(2, limit=4, used=2, machines=4, more=3))
    assert (found.what, found.found) == ("growth of cpu", "2 to 5")
