"""Who refers to whom: some of them, however many there are."""

from collections.abc import Sequence

from apis.garden.v1beta1.register import BY_KIND
from apis.meta.keys import object_key
from apis.meta.transaction import Object, Record, encode_body
from quotaapi.directory import CacheDirectory
from quotaapi.resources.stores import extracts
from storage.cache.watch_cache import WatchCache
from tests.builders import a_binding, a_shoot, an_object

BINDING = object_key("crosssecretbindings", "garden-dev", "binding")


class Indexed:
    """A watch cache's indexes, and how many records they handed out."""

    def __init__(self, *objects: Object) -> None:
        self._cache = WatchCache(extracts())
        self._cache.load(1, [_record(obj) for obj in objects])
        self.handed_out = 0

    def by_index(
        self, resource: str, index: str, value: str, *, limit: int = 0
    ) -> Sequence[Record]:
        found = self._cache.by_index(resource, index, value, limit=limit)
        self.handed_out += len(found)
        return found


def _record(obj: Object) -> Record:
    metadata = obj["metadata"]
    plural = BY_KIND[obj["kind"]].plural
    key = object_key(plural, metadata["namespace"], metadata["name"])
    return Record(key, 1, 0, encode_body(obj))


def directory(indexed: Indexed) -> CacheDirectory:
    return CacheDirectory(indexed)  # type: ignore[arg-type]  # asks for nothing but indexes


def test_of_a_thousand_shoots_no_more_are_looked_at_than_are_named() -> None:
    indexed = Indexed(*(a_shoot(name=f"shoot-{n}") for n in range(1000)))

    found = directory(indexed).shoots_of(BINDING, 10)

    assert (len(found), indexed.handed_out) == (10, 10)
    assert found == sorted(found)
    assert all(name.startswith("garden-dev/shoot-") for name in found)


def test_shoots_are_all_named_where_they_are_few() -> None:
    indexed = Indexed(*(a_shoot(name=name) for name in ("b", "a", "c")))

    assert directory(indexed).shoots_of(BINDING, 10) == [f"garden-dev/{n}" for n in "abc"]


def test_bindings_of_every_kind_are_named_up_to_the_limit() -> None:
    kinds = ("CrossSecretBinding", "SecretBinding")
    indexed = Indexed(
        *(a_binding(name=f"b{n}", kind=kind, quotas=["quota"]) for kind in kinds for n in range(6))
    )

    found = directory(indexed).bindings_of("garden-trial", "quota", 10)

    assert len(found) == indexed.handed_out == 10
    assert set(found) == {f"garden-dev/b{n}" for n in range(6)}


def test_usages_of_a_quota_are_found_up_to_the_limit() -> None:
    spec = {"quotaRef": {"namespace": "garden-trial", "name": "quota"}, "scope": "project"}
    indexed = Indexed(
        *(
            an_object("QuotaUsage", name="garden-trial.quota", namespace=f"ns-{n}", spec=spec)
            for n in range(60)
        )
    )

    assert len(directory(indexed).usages_of("garden-trial", "quota", 50)) == 50
