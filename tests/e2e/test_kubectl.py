"""What kubectl makes of the group in a cluster that has others: words, and `apply`."""

import pytest

from apis.garden.v1beta1.register import GROUP, RESOURCES
from apis.meta.codec import encode, encode_yaml
from tests.builders import a_shoot
from tests.clients.kubectl import minor_version
from tests.clients.test_kubectl_writing import OPENAPI_V3_MINOR
from tests.e2e.people import a_core, refusal
from tests.unit.kinds.names_elsewhere import BUILT_IN

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

WORDS = [
    (word, each.group_resource)
    for each in RESOURCES
    for word in (each.plural, each.singular, *each.short_names)
    if word
]

# Of two groups that have a word, the first one's counts: core's events.
SHORT_NAMES = {word: each for each in reversed(BUILT_IN) for word in each.short_names}


def test_quota_alone_is_cores(cluster, namespace) -> None:
    cluster.apply(a_core("ResourceQuota", "cores", namespace, spec={"hard": {"pods": "3"}}))

    got = cluster.kubectl("get", "quota", "-n", namespace, "-o", "name").stdout
    explained = cluster.kubectl("explain", "quota").stdout
    absent = cluster.kubectl("delete", "quota", "quota", "-n", namespace, check=False)
    cluster.kubectl("delete", "quota", "cores", "-n", namespace)

    assert got == b"resourcequota/cores\n"
    assert b"ResourceQuota" in explained
    assert 'resourcequotas "quota" not found' in refusal(absent)
    assert cluster.get(f"quotas.{GROUP}", "quota", "-n", namespace)["kind"] == "Quota"


@pytest.mark.parametrize(("word", "resource"), WORDS)
def test_every_word_is_understood_bare_and_with_the_group(cluster, word, resource) -> None:
    # A name that is nowhere: the answer tells which kind was asked.
    for asked in (word, f"{word}.{GROUP}"):
        absent = cluster.kubectl("get", asked, "no-such-name", check=False)
        assert f'{resource} "no-such-name" not found' in refusal(absent)


def test_what_kubectl_prints_as_a_name_it_understands(cluster, namespace) -> None:
    printed = cluster.kubectl("get", "squota", "-n", namespace, "-o", "name").stdout.decode()

    found = cluster.get(printed.strip(), "-n", namespace)

    assert printed == f"quota.{GROUP}/quota\n"
    assert found["kind"] == "Quota"


@pytest.mark.parametrize(("word", "kind"), SHORT_NAMES.items(), ids=SHORT_NAMES)
def test_built_in_short_names_stay_what_they_are(cluster, word, kind) -> None:
    # Component statuses are told in the singular.
    names = (kind.singular, ".".join(filter(None, (kind.plural, kind.group))))

    told = refusal(cluster.kubectl("get", word, "no-such-name", check=False))

    assert any(f'{name} "no-such-name" not found' in told for name in names)


def test_apply_of_an_unchanged_shoot_is_quiet_and_keeps_what_others_set(cluster, namespace) -> None:
    if minor_version() < OPENAPI_V3_MINOR:
        pytest.skip(f"kubectl computes patches by OpenAPI version 3 from 1.{OPENAPI_V3_MINOR} on")
    shoot = a_shoot(namespace=namespace)
    [worker] = shoot["spec"]["cloud"]["aws"]["workers"]
    others = {"spec": {"cloud": {"aws": {"workers": [{"name": worker["name"], "maxSurge": 2}]}}}}
    cluster.apply(shoot)
    cluster.kubectl("patch", "shoot", "shoot", "-n", namespace, "--type=strategic",
                    "-p", encode(others).decode())  # fmt: skip

    again = cluster.kubectl("apply", "-f", "-", stdin=encode_yaml(shoot))

    [found] = cluster.get("shoot", "shoot", "-n", namespace)["spec"]["cloud"]["aws"]["workers"]
    assert again.stdout == b"shoot.garden.sapcloud.io/shoot unchanged\n"
    assert (again.stderr, found["maxSurge"]) == (b"", 2)
