"""Every option of every verb of every kind, with every kind of value: its verdict, and a store at rest."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from apis.garden.v1beta1.register import RESOURCES
from apis.meta import codec
from apis.meta.resource import Resource
from apis.meta.transaction import Object
from tests.fuzz.options import OK, OPTIONS, Given, every_option
from tests.fuzz.target import SEED, Target
from tests.fuzz.wire import request
from tests.harness.server import GROUP_PATH

pytestmark = [pytest.mark.integration, pytest.mark.slow]

METHODS: Final = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "apply": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
MEDIA_TYPES: Final = {
    "patch": "application/merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
OF_COLLECTIONS: Final = ("list", "watch", "create", "deletecollection")
REFUSALS: Final = {400: "BadRequest", 422: "Invalid"}
SEEDS: Final = {obj["kind"]: obj for obj in SEED}


def served() -> Iterator[Any]:
    for resource in RESOURCES:
        for verb in OPTIONS:
            known = "patch" if verb == "apply" else verb
            if known in resource.verbs and (resource.kind in SEEDS or verb in ("list", "watch")):
                yield pytest.param(resource, verb, id=f"{resource.kind}-{verb}")


class Asking:
    """Requests of one verb for one kind. All that write are dry runs, or are to be refused."""

    def __init__(self, target: Target, resource: Resource, verb: str) -> None:
        self._target, self._verb = target, verb
        seed = SEEDS.get(resource.kind, {"metadata": {"namespace": "garden-dev"}})
        namespace = seed["metadata"].get("namespace")
        inside = f"/namespaces/{namespace}" if namespace else ""
        self._path = f"{GROUP_PATH}{inside}/{resource.plural}"
        if verb not in OF_COLLECTIONS:
            self._path += f"/{seed['metadata']['name']}"
        self._body = self._encoded(seed)

    def _encoded(self, seed: Object) -> bytes:
        match self._verb:
            case "create":
                metadata = {**seed["metadata"], "name": "other"}
                return codec.encode({**seed, "metadata": metadata})
            case "update":
                answer = self._target.wire.send(request("GET", self._path))
                assert answer is not None
                return answer.body
            case "apply":
                return codec.encode(seed)
            case "patch":
                return codec.encode({"metadata": {"labels": {"a": "b"}}})
            case _:
                return b""

    def _query(self, given: Given) -> str:
        parts = [given.text]
        if self._verb == "watch":
            parts.append("watch=1")
        if self._verb == "watch" and given.name != "timeoutSeconds":
            parts.append("timeoutSeconds=1")
        if self._verb not in ("get", "list", "watch") and given.name != "dryRun":
            parts.append("dryRun=All")
        if self._verb == "apply" and given.name != "fieldManager":
            parts.append("fieldManager=fuzz")
        return "&".join(parts)

    def verdict(self, given: Given) -> None:
        method = METHODS[self._verb]
        headers = [("Content-Type", MEDIA_TYPES.get(self._verb, "application/json"))]
        data = request(method, f"{self._path}?{self._query(given)}", headers, self._body)
        before = self._target.revision()
        answer = self._target.wire.send(data, method=method, streams=self._verb == "watch")
        assert answer is not None, given
        self._target.judge(answer, before, reads=True)
        if given.refusal == OK:
            assert answer.status not in REFUSALS, (str(given), answer)
        else:
            assert answer.status == given.refusal, (str(given), answer)
            assert answer.value["reason"] == REFUSALS[given.refusal], (str(given), answer)


@pytest.mark.parametrize(("resource", "verb"), list(served()))
def test_an_option_is_judged_before_anything_is_done(
    target: Target, resource: Resource, verb: str
) -> None:
    asking = Asking(target, resource, verb)
    for given in every_option():
        if given.verb == verb:
            asking.verdict(given)


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind)
def test_a_field_selector_that_a_kind_cannot_have_is_refused(
    target: Target, resource: Resource
) -> None:
    for text in ("fieldSelector=metadata.namespace%3Dx", "fieldSelector=metadata.namespace!%3Dx"):
        refusal = OK if resource.namespaced else 400
        for verb in ("list", "watch", "deletecollection"):
            if verb in resource.verbs and (resource.kind in SEEDS or verb != "deletecollection"):
                Asking(target, resource, verb).verdict(Given(verb, "fieldSelector", text, refusal))
