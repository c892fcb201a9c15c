"""kubectl's commands that change nothing."""

import pytest
import yaml

from apis.garden.v1beta1.register import BY_PLURAL, RESOURCES
from apis.meta.codec import decode_json
from apis.meta.transaction import Object
from tests.builders import API_VERSION, a_binding, a_profile, a_quota, a_shoot
from tests.clients.kubectl import rows

pytestmark = [pytest.mark.integration, pytest.mark.kubectl]


def a_team(namespace: str) -> Object:
    return a_quota(name="team", namespace=namespace)


@pytest.fixture
def shoot(kubectl, namespace) -> Object:
    """A shoot with everything that it needs."""
    profile = a_profile(name=f"sky-{namespace}")
    quota = a_quota(name="total", namespace=namespace, metrics={"cpu": "20", "memory": "1Ti"})
    binding = a_binding(namespace=namespace, quotas=["total"], quota_namespace=namespace)
    shoot = a_shoot(name="first", namespace=namespace, profile=f"sky-{namespace}")
    kubectl.output("create", "-f", "-", objects=[profile, quota, binding, shoot])
    return shoot


def test_api_resources_shows_names_short_names_scope_and_kind(kubectl) -> None:
    shown = {row["NAME"]: row for row in rows(kubectl.output("api-resources"))}

    assert set(shown) == {resource.plural for resource in RESOURCES}
    assert shown["quotas"]["SHORTNAMES"] == "squota"
    assert {name for name, row in shown.items() if row["NAMESPACED"] == "false"} == {
        "cloudprofiles"
    }
    assert all(row["KIND"] == BY_PLURAL[name].kind for name, row in shown.items())


def test_api_versions_names_the_group(kubectl) -> None:
    assert kubectl.output("api-versions") == f"{API_VERSION}\n"


def test_explain_shows_the_fields_of_a_field(kubectl) -> None:
    shown = kubectl.output("explain", "squota.spec")

    assert "What is allotted." in shown
    for field, type_ in (("clusterLifetimeDays", "<integer>"), ("scope", "<string>")):
        assert f"{field}\t{type_}" in shown
    assert shown.count("-required-") == 2


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.plural)
def test_explain_recursive_shows_the_whole_tree(kubectl, resource) -> None:
    shown = kubectl.output("explain", resource.plural, "--recursive")

    assert resource.kind in shown.split()
    assert {*resource.schema.declaration.fields, "ownerReferences", "blockOwnerDeletion"} <= set(
        shown.split()
    )


def test_get_shows_columns_worth_reading(kubectl, shoot) -> None:
    [quota] = rows(kubectl.output("get", "quotas"))
    [seen] = rows(kubectl.output("get", "shoots", "first"))

    assert quota["NAME"] == "total"
    assert quota["USED"] == "cpu: 2/20, memory: 8Gi/1Ti"
    assert seen["CLOUDPROFILE"] == shoot["spec"]["cloud"]["profile"]
    assert seen["BINDING"] == "binding"


def test_get_wide_shows_more(kubectl, shoot) -> None:
    narrow = rows(kubectl.output("get", "shoots"))[0]
    wide = rows(kubectl.output("get", "shoots", "-o", "wide"))[0]

    assert {**wide, "AGE": ""} == {**wide, **narrow, "AGE": ""}
    assert len(wide) > len(narrow)


def test_get_of_several_kinds_names_each(kubectl, shoot) -> None:
    shown = kubectl.output("get", "squota,csb,qu,shoots", "-o", "name").split()

    assert sorted(shown) == [
        "crosssecretbinding.garden.sapcloud.io/binding",
        "quota.garden.sapcloud.io/total",
        f"quotausage.garden.sapcloud.io/{kubectl.namespace}.total",
        "shoot.garden.sapcloud.io/first",
    ]


def test_get_yaml_is_the_object(kubectl, namespace) -> None:
    kubectl.output("create", "-f", "-", objects=[a_team(namespace)])

    shown = yaml.safe_load(kubectl.output("get", "squota", "team", "-o", "yaml"))

    assert (shown["apiVersion"], shown["kind"]) == (API_VERSION, "Quota")
    assert shown["spec"] == {"scope": "secret", "metrics": {"cpu": "20"}}
    assert shown["status"]["hard"] == {"cpu": "20"}
    assert shown["metadata"]["namespace"] == namespace


def test_get_jsonpath_picks_a_field(kubectl, shoot) -> None:
    query = "{.items[*].spec.cloud.aws.workers[0].machineType}"

    assert kubectl.output("get", "shoots", "-o", f"jsonpath={query}") == "small"


def test_get_custom_columns_shows_what_is_asked_for(kubectl, shoot) -> None:
    columns = "NAME:.metadata.name,CPU:.spec.metrics.cpu,USED:.status.used.cpu"

    shown = rows(kubectl.output("get", "squota", "-o", f"custom-columns={columns}"))

    assert shown == [{"NAME": "total", "CPU": "20", "USED": "2"}]


def test_get_watch_shows_what_happens(kubectl, namespace) -> None:
    kubectl.output("create", "-f", "-", objects=[a_team(namespace)])

    with kubectl.following("get", "squota", "-w", "--output-watch-events") as lines:
        header, first = lines.next(), lines.next()
        kubectl.output(
            "patch", "squota", "team", "--type=merge", "-p", '{"spec":{"metrics":{"cpu":"7"}}}'
        )
        changed = lines.next()
        kubectl.output("delete", "squota", "team")
        gone = lines.next()

    assert header.split()[:3] == ["EVENT", "NAME", "SCOPE"]
    assert first.split()[:3] == ["ADDED", "team", "secret"]
    assert changed.split()[:2] == ["MODIFIED", "team"]
    assert "cpu: 0/7" in changed
    assert gone.split()[:2] == ["DELETED", "team"]


def test_get_watch_of_one_object_prints_yaml(kubectl, namespace) -> None:
    kubectl.output("create", "-f", "-", objects=[a_team(namespace)])

    with kubectl.following("get", "squota", "team", "-w", "-o", "name") as lines:
        assert lines.next() == "quota.garden.sapcloud.io/team"
        kubectl.output("annotate", "squota", "team", "note=hi")
        assert lines.next() == "quota.garden.sapcloud.io/team"


def test_get_in_chunks_shows_all_rows_once(kubectl, namespace) -> None:
    names = [f"quota-{number}" for number in range(5)]
    quotas = [a_quota(name=name, namespace=namespace) for name in names]
    kubectl.output("create", "-f", "-", objects=quotas)

    done = kubectl("get", "squota", "--chunk-size=2", "-v=6")

    assert [row["NAME"] for row in rows(done.stdout)] == names
    assert done.stderr.count("limit=2") == 3
    assert done.stderr.count("continue=") == 2


def test_get_selects_by_field(kubectl, namespace) -> None:
    quotas = [
        a_quota(name="one", namespace=namespace),
        a_quota(name="two", namespace=namespace, scope="project"),
    ]
    kubectl.output("create", "-f", "-", objects=quotas)

    by_name = kubectl.output(
        "get", "squota", "--field-selector", "metadata.name!=one", "-o", "name"
    )
    by_scope = kubectl.output(
        "get", "squota", "--field-selector", "spec.scope=secret", "-o", "name"
    )

    assert by_name == "quota.garden.sapcloud.io/two\n"
    assert by_scope == "quota.garden.sapcloud.io/one\n"


def test_get_says_which_field_cannot_be_selected_by(kubectl) -> None:
    said = kubectl.complaint("get", "squota", "--field-selector", "spec.nope=1")

    assert "Error from server (BadRequest)" in said
    assert "field label not supported: spec.nope" in said


def test_get_selects_by_label(kubectl, namespace) -> None:
    quotas = [a_quota(name=name, namespace=namespace) for name in ("one", "two")]
    quotas[0]["metadata"]["labels"] = {"team": "a"}
    kubectl.output("create", "-f", "-", objects=quotas)

    chosen = rows(kubectl.output("get", "squota", "-l", "team in (a, b)", "--show-labels"))
    others = rows(kubectl.output("get", "squota", "-l", "!team"))

    assert [(row["NAME"], row["LABELS"]) for row in chosen] == [("one", "team=a")]
    assert [row["NAME"] for row in others] == ["two"]


def test_get_sorts(kubectl, namespace) -> None:
    quotas = [
        a_quota(name=name, namespace=namespace, metrics={"cpu": cpu})
        for name, cpu in (("one", "3"), ("two", "1"), ("three", "2"))
    ]
    kubectl.output("create", "-f", "-", objects=quotas)

    shown = rows(kubectl.output("get", "squota", "--sort-by=.spec.metrics.cpu"))

    assert [row["NAME"] for row in shown] == ["two", "three", "one"]


def test_get_of_nothing_says_so(kubectl) -> None:
    done = kubectl("get", "shoots")

    assert done.returncode == 0
    assert done.stderr == f"No resources found in {kubectl.namespace} namespace.\n"


@pytest.mark.parametrize("kind", ["shoots", "squota", "cpfl"])
def test_get_names_what_is_not_found(kubectl, kind) -> None:
    plural = {"squota": "quotas", "cpfl": "cloudprofiles"}.get(kind, kind)

    said = kubectl.complaint("get", kind, "nope")

    assert said == f'Error from server (NotFound): {plural}.garden.sapcloud.io "nope" not found\n'


def test_get_shows_who_manages_fields_when_asked(kubectl, namespace) -> None:
    kubectl.output("create", "-f", "-", objects=[a_team(namespace)])

    shown = yaml.safe_load(kubectl.output("get", "squota", "team", "-o", "yaml", *kubectl.managed))

    [entry] = shown["metadata"]["managedFields"]
    assert entry["manager"] == "kubectl-create"
    assert entry["operation"] == "Update"
    assert entry["fieldsV1"]["f:spec"]["f:metrics"]["f:cpu"] == {}


def test_describe_shows_a_quota_with_its_use(kubectl, shoot) -> None:
    shown = kubectl.output("describe", "squota", "total")
    words = [line.split() for line in shown.splitlines()]

    assert ["Name:", "total"] in words
    assert ["API", "Version:", API_VERSION] in words
    assert ["Scope:", "secret"] in words
    used = words[words.index(["Used:"]) :]
    assert ["Cpu:", "2"] in used
    assert ["Memory:", "8Gi"] in used
    assert ["Events:", "<none>"] in words


def test_raw_is_the_servers_answer(kubectl) -> None:
    path = f"/apis/{API_VERSION}/namespaces/{kubectl.namespace}/quotas"

    assert decode_json(kubectl.output("get", "--raw", path).encode()).value["kind"] == "QuotaList"
    assert "[+]etcd ok" in kubectl.output("get", "--raw", "/readyz?verbose")


def test_version_shows_the_servers(kubectl) -> None:
    assert "quotaapi" in kubectl.output("version")
