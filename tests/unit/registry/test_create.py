"""What a create makes of its body, and what it refuses."""

from typing import Any

import pytest

from apis.garden.v1beta1.register import CLOUD_PROFILE, QUOTA_USAGE
from apis.meta.codec import Decoded, decode_json
from apis.meta.errors import StatusError
from apis.meta.request import Attributes, Operation
from apis.meta.transaction import Conflict, Object, Put, Transaction, encode_body
from quotaapi.registry.identity import new_uid, random_suffix
from quotaapi.registry.options import WriteOptions
from tests.builders import a_profile, a_quota
from tests.fakes.registry_rig import NAMESPACE, NOW_TEXT, USER, Rig


def quota(name: str = "a", **metadata: object) -> Object:
    obj = a_quota(name=name, namespace=NAMESPACE)
    obj["metadata"] |= metadata
    return obj


async def refused(rig: Rig, obj: object, **options: object) -> StatusError:
    with pytest.raises(StatusError) as caught:
        await rig.store.create(USER, rig.namespace, Decoded(obj), WriteOptions(**options))  # type: ignore[arg-type]
    return caught.value


async def test_a_new_object_gets_its_system_metadata() -> None:
    written = await Rig().create(quota())

    found = decode_json(written.json()).value["metadata"]
    del found["managedFields"]
    assert found == {
        "name": "a",
        "namespace": NAMESPACE,
        "uid": "uid-1",
        "creationTimestamp": NOW_TEXT,
        "generation": 1,
        "resourceVersion": str(written.resource_version),
    }
    assert written.created


async def test_what_a_client_says_of_system_metadata_counts_for_nothing() -> None:
    rig = Rig()

    await rig.create(
        quota(
            uid="mine",
            generation=9,
            creationTimestamp="2001-01-01T00:00:00Z",
            deletionTimestamp="2001-01-01T00:00:00Z",
            deletionGracePeriodSeconds=7,
            selfLink="/x",
            managedFields=[{}],
        )
    )

    stored = rig.stored("a")
    assert stored is not None
    assert stored["metadata"].keys() == {
        "name", "namespace", "uid", "creationTimestamp", "generation", "resourceVersion",
        "managedFields",
    }  # fmt: skip
    assert (stored["metadata"]["uid"], stored["metadata"]["generation"]) == ("uid-1", 1)


async def test_an_absent_namespace_is_the_paths() -> None:
    rig = Rig()
    obj = quota()
    del obj["metadata"]["namespace"]

    await rig.create(obj)

    assert rig.stored("a") is not None


async def test_another_namespace_than_the_paths_is_a_bad_request() -> None:
    error = await refused(Rig(), quota(namespace="elsewhere"))

    assert (error.code, error.message) == (
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    )


async def test_a_namespace_on_a_cluster_scoped_object_is_dropped() -> None:
    rig = Rig(CLOUD_PROFILE)
    obj = a_profile(name="aws")
    obj["metadata"]["namespace"] = "somewhere"

    await rig.create(obj)

    stored = rig.stored("aws")
    assert stored is not None
    assert "namespace" not in stored["metadata"]


async def test_status_is_dropped_where_it_is_a_subresource() -> None:
    rig = Rig()

    await rig.create({**quota(), "status": {"used": {"cpu": "1"}}})

    assert "status" not in (rig.stored("a") or {})


async def test_an_existing_name_conflicts() -> None:
    rig = Rig()
    await rig.create(quota())

    error = await refused(rig, quota())

    assert error.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'quotas.garden.sapcloud.io "a" already exists',
        "reason": "AlreadyExists",
        "details": {"name": "a", "group": "garden.sapcloud.io", "kind": "quotas"},
        "code": 409,
    }


async def test_an_existing_name_conflicts_before_the_gate_is_asked() -> None:
    rig = Rig()
    await rig.create(quota())

    def full(_attributes: Attributes) -> None:
        raise AssertionError("a full quota must not be asked")

    rig.gate.judge = full

    assert (await refused(rig, quota())).reason == "AlreadyExists"


async def test_an_object_that_is_being_deleted_is_named_as_such() -> None:
    rig = Rig()
    await rig.create(quota(finalizers=["example.com/hold"]))
    await rig.delete("a")

    error = await refused(rig, quota())

    assert error.message == (
        'object is being deleted: quotas.garden.sapcloud.io "a" already exists'
    )


async def test_a_name_that_only_an_outdated_cache_knows_is_free() -> None:
    rig = Rig()
    await rig.create(quota())
    outdated = rig.memory.records[rig.key("a")]
    await rig.delete("a")
    rig.memory.lag(rig.key("a"), outdated)

    written = await rig.create(quota())

    assert written.created


async def test_a_name_taken_at_the_last_moment_conflicts() -> None:
    rig = Rig()
    await rig.create(quota())
    rig.memory.lag(rig.key("a"), None)

    assert (await refused(rig, quota())).reason == "AlreadyExists"


async def test_a_generated_name_is_the_prefix_and_five_letters() -> None:
    rig = Rig()
    obj = quota(generateName="gen-")
    del obj["metadata"]["name"]

    written = await rig.create(obj)

    metadata = decode_json(written.json()).value["metadata"]
    assert (metadata["name"], metadata["generateName"]) == ("gen-00001", "gen-")


async def test_a_long_prefix_is_cut_so_that_the_name_fits_a_label() -> None:
    rig = Rig()
    obj = quota(generateName="g" * 100)
    del obj["metadata"]["name"]

    written = await rig.create(obj)

    assert decode_json(written.json()).value["metadata"]["name"] == "g" * 58 + "00001"


async def test_a_generated_name_that_is_taken_is_tried_again() -> None:
    rig = Rig()
    await rig.create(quota("gen-00001"))
    obj = quota(generateName="gen-")
    del obj["metadata"]["name"]

    await rig.create(obj)

    assert rig.stored("gen-00002") is not None


async def test_a_prefix_whose_names_are_all_taken_says_so() -> None:
    rig = Rig()
    for n in range(1, 9):
        await rig.create(quota(f"gen-{n:05d}"))
    obj = quota(generateName="gen-")
    del obj["metadata"]["name"]

    error = await refused(rig, obj)

    assert (error.reason, error.retry_after_seconds) == ("AlreadyExists", 1)
    assert error.message.endswith(
        "already exists, the server was not able to generate a unique name for the object"
    )


async def test_neither_name_nor_prefix_is_invalid() -> None:
    obj = quota()
    del obj["metadata"]["name"]

    error = await refused(Rig(), obj)

    assert error.status()["details"]["causes"] == [
        {
            "field": "metadata.name",
            "message": "Required value: name or generateName is required",
            "reason": "FieldValueRequired",
        }
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "Object 'Kind' is missing in 'null'"),
        ([], "couldn't get version/kind; json parse error: json: cannot unmarshal array"),
        ("text", "couldn't get version/kind; json parse error: json: cannot unmarshal string"),
        ({}, "Object 'Kind' is missing in '{}'"),
        ({"kind": 5}, "couldn't get version/kind; json parse error: json: cannot unmarshal number"),
    ],
)
async def test_what_is_no_object_is_unrecognized(value: object, message: str) -> None:
    error = await refused(Rig(), value)

    assert error.code == 400
    assert error.message.startswith(
        f"the object provided is unrecognized (must be of type Quota): {message}"
    )


@pytest.mark.parametrize("version", [None, "other/v1", "garden.sapcloud.io/v2"])
async def test_another_version_is_a_bad_request(version: str | None) -> None:
    obj = quota()
    del obj["apiVersion"]

    error = await refused(Rig(), obj if version is None else {**obj, "apiVersion": version})

    assert (error.code, error.message) == (
        400,
        f"the API version in the data ({version or ''}) does not match the expected API version "
        "(garden.sapcloud.io/v1beta1)",
    )


async def test_another_kind_is_invalid() -> None:
    error = await refused(Rig(), {**quota(), "kind": "Wrong"})

    assert (error.code, error.message) == (
        422,
        'Wrong.garden.sapcloud.io "a" is invalid: kind: Invalid value: "Wrong": must be Quota',
    )


async def test_a_resource_version_is_a_bad_request() -> None:
    error = await refused(Rig(), quota(resourceVersion="7"))

    assert error.code == 400
    assert error.message == "resourceVersion should not be set on objects to be created"


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"labels": {"a": 1}}, "cannot unmarshal number into Go struct field ObjectMeta.labels"),
        ({"labels": []}, "cannot unmarshal array into Go struct field ObjectMeta.labels"),
        (
            {"name": 5},
            "cannot unmarshal number into Go struct field ObjectMeta.name of type string",
        ),
        ({"finalizers": "x"}, "cannot unmarshal string into Go struct field ObjectMeta.finalizers"),
        ({"finalizers": [1]}, "cannot unmarshal number into Go struct field ObjectMeta.finalizers"),
        ({"generation": "1"}, "cannot unmarshal string into Go struct field ObjectMeta.generation"),
        ({"ownerReferences": {}}, "ObjectMeta.ownerReferences of type []v1.OwnerReference"),
        ({"ownerReferences": [5]}, "ObjectMeta.ownerReferences of type v1.OwnerReference"),
        ({"ownerReferences": [{"uid": 5}]}, "ObjectMeta.ownerReferences.uid of type string"),
        ({"creationTimestamp": 5}, "ObjectMeta.creationTimestamp of type Time"),
        ({"creationTimestamp": "soon"}, "soon"),
    ],
)
async def test_mistyped_metadata_is_a_bad_request(metadata: dict[str, Any], message: str) -> None:
    error = await refused(Rig(), quota(**metadata))

    assert error.code == 400
    assert error.message.startswith('Quota in version "v1beta1" cannot be handled as a Quota: ')
    assert message in error.message


async def test_metadata_that_is_no_object_is_a_bad_request() -> None:
    assert (await refused(Rig(), {**quota(), "metadata": []})).code == 400


async def test_a_wrong_type_is_refused_before_a_plugin_sees_it() -> None:
    rig = Rig()
    rig.mutating.append(lambda attributes: pytest.fail("a plugin was asked"))

    error = await refused(rig, {**quota(), "spec": []})

    assert error.status()["details"]["causes"][0]["field"] == "spec"


async def test_all_that_is_wrong_is_said_at_once() -> None:
    obj = quota("UPPER", labels={"-bad": "x"})
    obj["spec"] = {"scope": "galaxy", "metrics": {"bogus": "1"}, "clusterLifetimeDays": 0}

    error = await refused(Rig(), obj)

    assert [cause["field"] for cause in error.status()["details"]["causes"]] == [
        "metadata.name",
        "metadata.labels",
        "spec.scope",
        "spec.clusterLifetimeDays",
        "spec.metrics[bogus]",
    ]


async def test_unknown_fields_are_dropped_with_a_warning() -> None:
    rig = Rig()

    written = await rig.create({**quota(nope=1), "extra": 1})

    assert written.warnings == ('unknown field "extra"', 'unknown field "metadata.nope"')
    stored = rig.stored("a")
    assert stored is not None
    assert "extra" not in stored
    assert "nope" not in stored["metadata"]


async def test_unknown_fields_are_dropped_silently_when_ignored() -> None:
    written = await Rig().create({**quota(), "extra": 1}, field_validation="Ignore")

    assert written.warnings == ()


async def test_unknown_and_duplicate_fields_are_refused_when_strict() -> None:
    body = decode_json(
        b'{"apiVersion":"garden.sapcloud.io/v1beta1","kind":"Quota","extra":1,'
        b'"metadata":{"name":"e","name":"f"},"spec":{"scope":"project","metrics":{}}}'
    )
    with pytest.raises(StatusError) as caught:
        await Rig().store.create(USER, NAMESPACE, body, WriteOptions(field_validation="Strict"))

    assert (caught.value.code, caught.value.message) == (
        400,
        'Quota in version "v1beta1" cannot be handled as a Quota: strict decoding error: '
        'duplicate field "metadata.name", unknown field "extra"',
    )


async def test_a_finalizer_without_a_domain_is_warned_about() -> None:
    written = await Rig().create(quota(finalizers=["nodomain", "x.y/z", "orphan"]))

    assert written.warnings == (
        'metadata.finalizers: "nodomain": prefer a domain-qualified finalizer name to avoid '
        "accidental conflicts with other finalizer writers",
    )


async def test_a_dry_run_stores_nothing_and_has_no_version() -> None:
    rig = Rig()

    written = await rig.create(quota(), dry_run=True)

    assert written.created
    assert "resourceVersion" not in decode_json(written.json()).value["metadata"]
    assert rig.memory.records == {}


async def test_the_chain_sees_the_object_in_its_order() -> None:
    rig = Rig()
    seen = []
    for step, plugins in (("mutate", rig.mutating), ("validate", rig.validating)):
        plugins.append(lambda attributes, step=step: seen.append((step, attributes)))  # type: ignore[misc]
    rig.gate.judge = lambda attributes: seen.append(("admit", attributes))

    await rig.create(quota())

    assert [step for step, _ in seen] == ["mutate", "validate", "admit"]
    assert all(a.operation is Operation.CREATE and a.old is None for _, a in seen)


async def test_what_a_plugin_fills_in_is_brought_into_canonical_form() -> None:
    rig = Rig()

    def fill(attributes: Attributes) -> None:
        assert attributes.obj is not None
        attributes.obj["spec"]["metrics"]["memory"] = "1024Mi"

    rig.mutating.append(fill)

    await rig.create(quota())

    assert (rig.stored("a") or {})["spec"]["metrics"]["memory"] == "1Gi"


async def test_a_read_only_kind_takes_no_write() -> None:
    rig = Rig(QUOTA_USAGE)

    error = await refused(rig, {"kind": "QuotaUsage"})

    assert (error.code, error.reason) == (405, "MethodNotAllowed")


async def test_empty_metadata_fields_are_the_same_as_none() -> None:
    rig = Rig()

    await rig.create(
        quota(labels={}, annotations={"a": None}, finalizers=[], deletionGracePeriodSeconds=None)
    )

    stored = rig.stored("a")
    assert stored is not None
    assert stored["metadata"]["annotations"] == {"a": ""}
    assert stored["metadata"].keys().isdisjoint({"labels", "finalizers"})


async def test_metadata_that_is_null_lacks_a_name() -> None:
    assert (await refused(Rig(), {**quota(), "metadata": None})).code == 422


async def test_an_owner_is_kept_without_its_unknown_fields() -> None:
    rig = Rig()
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}

    written = await rig.create(quota(ownerReferences=[{**owner, "nope": 1, "x": None}]))

    assert written.warnings == ('unknown field "metadata.ownerReferences[0].nope"',)
    assert (rig.stored("a") or {})["metadata"]["ownerReferences"] == [owner]


async def test_a_name_that_comes_and_goes_ends_in_a_timeout() -> None:
    rig = Rig()
    key = rig.key("a")

    def flicker() -> None:
        rig.memory.apply(Transaction({}, [Put(key, encode_body(quota()))]))
        rig.memory.failures.append(Conflict({}, 0))
        del rig.memory.records[key]

    rig.gate.before_commit += [flicker] * 5

    assert (await refused(rig, quota())).code == 504


def test_a_random_suffix_is_five_letters_that_make_no_word() -> None:
    suffix = random_suffix()

    assert len(suffix) == 5
    assert set(suffix).isdisjoint("aeiou013")


def test_uids_differ() -> None:
    assert new_uid() != new_uid()
