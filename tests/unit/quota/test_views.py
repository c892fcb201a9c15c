"""The keys and the memory of what accounting reads."""

from admission.quota.views import NAME_MAX, Route, Views, usage_key
from apis.meta.keys import object_key, parse_object_key
from apis.meta.names import dns1123_subdomain
from apis.meta.transaction import Object, Record, Snapshot, encode_body
from tests.builders import a_binding, a_quota


def record_of(plural: str, obj: Object, mod_revision: int) -> Record:
    key = object_key(plural, obj["metadata"]["namespace"], obj["metadata"]["name"])
    return Record(key, mod_revision, 0, encode_body(obj))


def usage_name(quota_namespace: str, quota_name: str) -> str:
    parsed = parse_object_key(usage_key("consumer", quota_namespace, quota_name))
    assert parsed is not None
    return parsed[2]


def test_a_usage_is_named_after_its_quota() -> None:
    assert usage_name("garden-trial", "cpu") == "garden-trial.cpu"


def test_the_usage_of_a_quota_with_the_longest_name_has_a_valid_name() -> None:
    longest = usage_name("n" * 63, ("q" * 62 + ".") * 3 + "q" * 64)

    assert dns1123_subdomain(longest) == []
    assert len(longest) <= NAME_MAX


def test_no_quota_can_be_named_so_that_it_shares_the_usage_of_one_with_a_longer_name() -> None:
    name = usage_name("ns", "q" * 253)
    namespace, _, other = name.partition(".")

    assert len(namespace) > 63 or usage_name(namespace, other) != name


def test_a_revision_that_comes_again_after_a_restore_has_its_own_contents() -> None:
    views = Views()
    views.quota(record_of("quotas", a_quota(scope="secret", metrics={"cpu": "20"}), 7))

    again = views.quota(record_of("quotas", a_quota(scope="project", metrics={"cpu": "2"}), 7))

    assert (again.secret, dict(again.hard)) == (False, {"cpu": "2"})


def test_a_binding_of_a_revision_that_comes_again_has_its_own_route() -> None:
    views = Views()
    quota = record_of("quotas", a_quota(), 3)
    known = {quota.key: Snapshot(quota.key, quota)}
    views.route(record_of("crosssecretbindings", a_binding(quotas=["quota"]), 7), known)

    again = views.route(record_of("crosssecretbindings", a_binding(quotas=[]), 7), known)

    assert isinstance(again, Route)
    assert again.stops == ()
