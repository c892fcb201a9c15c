"""A field that is added to a kind's declaration, in a copy of the code, is served."""

import shutil
from collections.abc import Iterator

import pytest

from tests.builders import a_quota
from tests.harness.server import ROOT, ServerProcess

DECLARATION = "apis/garden/v1beta1/quota.py"
BEFORE = '        "clusterLifetimeDays": Integer('
FIELD = (
    '        "colour": String(doc="What it looks like.", enum=("green", "red"), default="red"),\n'
)
V3 = "/openapi/v3/apis/garden.sapcloud.io/v1beta1"
QUOTAS = "namespaces/garden-trial/quotas"
APPLY = {"Content-Type": "application/apply-patch+yaml"}


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server of a copy of the code that differs in one line."""
    directory = tmp_path_factory.mktemp("changed")
    for package in ("quotaapi", "admission", "storage", "apis"):
        shutil.copytree(ROOT / package, directory / "code" / package)
    declaration = directory / "code" / DECLARATION
    text = declaration.read_text()
    assert text.count(BEFORE) == 1
    declaration.write_text(text.replace(BEFORE, FIELD + BEFORE))
    # Without the former, Python would look for modules where it is started first.
    environment = {"PYTHONSAFEPATH": "1", "PYTHONPATH": str(directory / "code")}
    with ServerProcess(directory / "data", environment=environment) as server:
        yield server


def colour_of(server: ServerProcess, name: str) -> str | None:
    spec: dict[str, str] = server.request("GET", f"{QUOTAS}/{name}").json()["spec"]
    return spec.get("colour")


def test_it_is_stored_and_has_its_default(changed: ServerProcess) -> None:
    given = a_quota(name="given")
    given["spec"]["colour"] = "green"

    created = [changed.request("POST", QUOTAS, obj) for obj in (given, a_quota(name="absent"))]

    assert [answer.status_code for answer in created] == [201, 201]
    assert [colour_of(changed, name) for name in ("given", "absent")] == ["green", "red"]


def test_it_is_validated(changed: ServerProcess) -> None:
    quota = a_quota(name="wrong")
    quota["spec"]["colour"] = "blue"

    answer = changed.request("POST", QUOTAS, quota)

    assert answer.status_code == 422
    assert 'spec.colour: Unsupported value: "blue"' in answer.json()["message"]


def test_it_is_applied_and_owned(changed: ServerProcess) -> None:
    path = f"{QUOTAS}/applied"
    quota = a_quota(name="applied")
    quota["spec"]["colour"] = "green"

    applied = changed.request("PATCH", f"{path}?fieldManager=me", quota, headers=APPLY)
    del quota["spec"]["colour"]
    again = changed.request("PATCH", f"{path}?fieldManager=me", quota, headers=APPLY)

    (entry,) = applied.json()["metadata"]["managedFields"]
    assert entry["fieldsV1"]["f:spec"]["f:colour"] == {}
    assert again.json()["spec"]["colour"] == "red"


def test_it_is_explained(changed: ServerProcess) -> None:
    schemas = changed.request("GET", V3).json()["components"]["schemas"]

    spec = schemas["io.sapcloud.garden.v1beta1.Quota"]["properties"]["spec"]
    assert spec["properties"]["colour"] == {
        "description": "What it looks like.",
        "type": "string",
        "enum": ["green", "red"],
        "default": "red",
    }
