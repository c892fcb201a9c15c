"""The recorded requests, carried out on the engines alone: everybody's entries are as recorded."""

import importlib.util
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from apis.garden.v1beta1.register import CLOUD_PROFILE, QUOTA
from apis.meta import codec
from apis.meta.apply import Applier, Apply
from apis.meta.errors import StatusError
from apis.meta.managedfields import Ownership, keep_times
from apis.meta.managers import manager_name
from apis.meta.patch import parse_json_patch, parse_merge_patch
from apis.meta.resource import Resource
from apis.meta.structure import ABSENT
from apis.meta.transaction import Object
from quotaapi.registry import decoding, metadata
from tests.shared_material import SHARED, shared

NOW = "2024-01-01T00:00:00Z"
USER_AGENT = "probe/1.0"
APPLY = "application/apply-patch+yaml"

NO_SPEC = {("merge-patch", 7): "a quota without a spec is refused here"}
"""Recorded successes that this group refuses: the scenario ends there."""


def scenarios() -> Mapping[str, Any]:
    path = SHARED / "conformance" / "scenarios.py"
    if not path.exists():
        return {}
    spec = importlib.util.spec_from_file_location("scenarios", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Mapping[str, Any] = module.SCENARIOS
    return found


def owners(obj: Object) -> Any:
    """As the recording shows them."""
    entries = obj["metadata"].get("managedFields")
    return entries and [
        {**entry, "time": "<time>"} if "time" in entry else entry for entry in entries
    ]


def field_order(value: Any) -> Any:
    """Objects as pairs, so that their order counts."""
    if isinstance(value, dict):
        return [(key, field_order(item)) for key, item in value.items()]
    return value


class World:
    """Just enough of a server to bring recorded bodies before the engines."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}

    def write(self, step: Mapping[str, Any], name: str) -> None:
        profile = "cloudprofiles" in step["path"]
        resource = CLOUD_PROFILE if profile else QUOTA
        subresource = "status" if step["path"].endswith("/status") else ""
        query = step.get("query", {})
        manager = manager_name(query.get("fieldManager", ""), USER_AGENT)
        ownership = Ownership(resource)
        old = self.objects.get(name)
        if step.get("content") == APPLY:
            how = Apply(
                manager=manager,
                now=NOW,
                force=query.get("force") == "true",
                subresource=subresource,
            )
            config = decoded(step["body"])
            applied = Applier(resource, ownership).apply(codec.copy(old), config, how)
            new = settled(resource, codec.copy(applied.obj), old, subresource)
            if applied.entries:
                new["metadata"]["managedFields"] = codec.copy(applied.entries)
        else:
            wanted = wanted_object(step, old)
            given = wanted["metadata"].get("managedFields", ABSENT)
            new = settled(resource, wanted, old, subresource)
            if old is None:
                entries = ownership.created(new, manager=manager, now=NOW, given=given)
            else:
                entries = ownership.updated(
                    new, old, manager=manager, now=NOW, subresource=subresource, given=given
                )
            if entries:
                new["metadata"]["managedFields"] = codec.copy(entries)
            else:
                new["metadata"].pop("managedFields", None)
        if old is not None:
            keep_times(new, old)
        self.objects[name] = new


def decoded(body: Any) -> Any:
    text = codec.encode(body) if not isinstance(body, str) else body.encode()
    try:
        return codec.decode_yaml(text.replace(b"{ns}", b"ns")).value
    except codec.DecodeError as error:
        raise StatusError(400, "BadRequest", f"error decoding YAML: {error}") from None


def wanted_object(step: Mapping[str, Any], old: Object | None) -> Object:
    if step["method"] != "PATCH":
        obj: Object = decoded(step["body"])
        obj["metadata"].pop("resourceVersion", None)
        return obj
    parse = parse_json_patch if "json-patch" in step["content"] else parse_merge_patch
    patched: Object = parse(codec.encode(step["body"])).apply(codec.copy(old))
    return patched


def settled(resource: Resource, obj: Object, old: Object | None, subresource: str) -> Object:
    """What the registry makes of a wanted object, as far as ownership can see it."""
    decoding.shape(
        resource,
        obj,
        duplicates=(),
        field_validation="Ignore",
        refusal=decoding.body_refusal(resource),
    )
    if subresource:
        assert old is not None
        obj = {**codec.copy(old), "status": obj.get("status")}
    elif resource.has_status:
        obj.pop("status", None)
        if old is not None and "status" in old:
            obj["status"] = codec.copy(old["status"])
    if old is not None and not subresource:
        metadata.carry_over(obj["metadata"], old["metadata"])
    resource.schema.default(obj)
    obj["metadata"].setdefault("uid", "u")
    return obj


def recorded_objects(body: Any) -> Iterator[Object]:
    """Whole objects in an answer: itself, or a list's items."""
    if not isinstance(body, dict):
        return
    if body.get("kind") in ("Quota", "CloudProfile"):
        yield body
    for item in body.get("items") or ():
        if isinstance(item, dict) and item.get("kind") == "Quota":
            yield item


@pytest.mark.parametrize("name", sorted(scenarios()) or ["missing"])
def test_entries_after_every_recorded_request_are_those_recorded(name: str) -> None:
    golden = codec.decode_json(shared("conformance/golden.json").read_bytes()).value[name]
    world = World()
    steps = [step for step in scenarios()[name] if "method" in step and "watch" not in step]
    answers = [answer for answer in golden if not answer["step"].startswith("watch ")]
    for index, (step, answer) in enumerate(zip(steps, answers, strict=True)):
        if (name, index) in NO_SPEC:
            return
        replay(world, (name, index), step, answer)


def replay(
    world: World, place: tuple[str, int], step: Mapping[str, Any], answer: Mapping[str, Any]
) -> None:
    applies = step.get("content") == APPLY and "fieldManager" in step.get("query", {})
    succeeds = answer["status"] < 300
    before = dict(world.objects)
    written = None
    if step["method"] in ("POST", "PUT", "PATCH") and succeeds:
        written = answer["body"]["metadata"]["name"]
        world.write(step, written)
    elif applies and "does not match the name" not in answer["body"]["message"]:
        with pytest.raises(StatusError) as refused:
            world.write(step, "a")
        assert refused.value.message == answer["body"]["message"]
        code, reason = answer["status"], answer["body"].get("reason")
        if code == 500:  # docs/decisions/0013
            code, reason = 400, "BadRequest"
        assert (refused.value.code, refused.value.reason) == (code, reason)
        assert refused.value.details == answer["body"].get("details")
    for shown in recorded_objects(answer["body"]):
        ours = world.objects.get(shown["metadata"]["name"])
        if ours is not None:
            assert owners(ours) == shown["metadata"].get("managedFields"), place
            assert field_order_of(ours) == field_order_of(shown), place
    if "dryRun" in step.get("query", {}):
        world.objects = before
    if step["method"] == "DELETE" and succeeds:
        forget(world, answer["body"])


def field_order_of(obj: Object) -> Any:
    entries = obj["metadata"].get("managedFields", ())
    return [field_order(entry["fieldsV1"]) for entry in entries]


def forget(world: World, body: Mapping[str, Any]) -> None:
    """What a delete removed. An object that only began to end stays as it was."""
    for shown in recorded_objects(body):
        if "deletionTimestamp" not in shown["metadata"]:
            world.objects.pop(shown["metadata"]["name"], None)
    if body.get("kind") == "Status":
        world.objects.pop(body["details"]["name"], None)
