"""What protects clusters from their members, and what it does not stand in the way of."""

from datetime import timedelta

import pytest

from apis.garden.v1beta1.shoot import CONFIRMATION, EXPIRATION
from apis.meta.times import format_rfc3339, parse_rfc3339
from quotaapi.auth.namespaces import CONFIRMS_DELETION
from tests.builders import a_quota, a_shoot
from tests.e2e.cluster import RealCluster
from tests.e2e.people import member, refusal

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def test_members_keep_to_the_lifetime_and_who_may_update_the_quota_need_not(
    cluster: RealCluster, namespace: str
) -> None:
    cluster.apply(a_quota(namespace=namespace, days=14), a_shoot(namespace=namespace))
    created = cluster.get("shoot", "shoot", "-n", namespace)["metadata"]["creationTimestamp"]
    end = parse_rfc3339(created) + timedelta(days=14)
    sponsor = member(cluster, namespace, "quotaapi:operator", "sponsor")
    people = {"member": member(cluster, namespace, "admin", "member"), "sponsor": sponsor}
    where = ("-n", namespace, "shoot", "shoot")

    def expire(who: str, later: timedelta) -> str:
        """What is said of it, empty where it is done."""
        value = f"{EXPIRATION}={format_rfc3339(end + later)}"
        done = cluster.kubectl(
            "annotate", "--overwrite", *where, value, config=people[who], check=False
        )
        return refusal(done) if done.returncode else ""

    cluster.wait(lambda: not expire("member", -timedelta(hours=1)))
    assert not expire("member", timedelta())
    assert f"clusterLifetimeDays of quota {namespace}/quota" in expire("member", timedelta(hours=1))
    cluster.wait(lambda: not expire("sponsor", timedelta(days=300)))


def test_a_protected_project_is_emptied_by_the_end_of_its_namespace_and_by_nobody_unawares(
    cluster: RealCluster, namespace: str
) -> None:
    cluster.kubectl("annotate", "namespace", namespace, f"{CONFIRMS_DELETION}=true")
    cluster.apply(*(a_shoot(name=name, namespace=namespace) for name in ("kept", "confirmed")))
    person = member(cluster, namespace, "admin", "careless")
    options = ("-n", namespace, "--wait=false")

    def delete(*what: str) -> str:
        done = cluster.kubectl("delete", "shoot", *what, *options, config=person, check=False)
        return refusal(done) if done.returncode else ""

    words = f'must have a "{CONFIRMATION}" annotation to delete (value "true")'
    cluster.wait(lambda: words in delete("kept", "--dry-run=server"))
    assert words in delete("--all")
    cluster.kubectl("annotate", "-n", namespace, "shoot", "confirmed", f"{CONFIRMATION}=true")
    assert not delete("confirmed")

    cluster.kubectl("delete", "namespace", namespace, "--wait=false")
    cluster.wait(lambda: not cluster.kubectl("get", "ns", namespace, check=False).stdout)
