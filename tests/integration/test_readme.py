"""README's first session: the examples can be made in their order, and are gone by the printed line."""

import re

import pytest

from apis.garden.v1beta1.register import RESOURCES
from apis.meta import codec
from tests.harness.server import ROOT, ServerProcess

pytestmark = pytest.mark.integration

KINDS = {resource.kind: resource for resource in RESOURCES}


def named_after(command: str) -> list[str]:
    text = (ROOT / "README.md").read_text()
    found = re.search(rf"\$ kubectl {command} ((?:.*\\\n)*.*)\n", text)
    assert found is not None
    return re.findall(r"-f (\S+)", found.group(1))


def test_the_examples_are_made_and_deleted_by_the_printed_lines(tmp_path) -> None:
    def path(obj) -> str:
        resource, metadata = KINDS[obj["kind"]], obj["metadata"]
        scope = f"namespaces/{metadata['namespace']}/" if resource.namespaced else ""
        return f"{scope}{resource.plural}"

    with ServerProcess(tmp_path / "data") as server:
        for file in named_after("create"):
            obj = codec.decode_yaml((ROOT / file).read_bytes()).value
            answer = server.request("POST", path(obj), obj)
            assert answer.status_code == 201, answer.text
        for file in named_after("delete"):
            obj = codec.decode_yaml((ROOT / file).read_bytes()).value
            answer = server.request("DELETE", f"{path(obj)}/{obj['metadata']['name']}")
            assert answer.status_code == 200, answer.text

    assert sorted(named_after("create")) == sorted(named_after("delete"))
