"""A store without a network: the pure part of quota admission run on a plain dictionary."""

import itertools
from datetime import UTC, datetime

from admission.interface import Intent
from admission.quota.bindings import BindingChange
from admission.quota.books import Books
from admission.quota.change import Change
from admission.quota.ledger import Surroundings
from admission.quota.plain import PlainChange
from admission.quota.quotas import QuotaChange
from admission.quota.shoots import ShootChange
from admission.quota.views import Views
from apis.garden.v1beta1.register import BY_KIND
from apis.meta.keys import object_key, parse_object_key
from apis.meta.request import Attributes, Operation, UserInfo
from apis.meta.transaction import Object, Put, Record, Snapshot

USER = UserInfo("alice")


class World:
    """Applies intents one at a time, or several as one batch, and checks every transaction's guards."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.revision = 1
        self._views = Views()
        self._uids = itertools.count()
        self._around = Surroundings(self, self._now, lambda: f"uid-{next(self._uids)}")

    @staticmethod
    def _now() -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    # -- the directory, from the records themselves ---------------------------------------

    def shoots_of(self, binding_key: str, limit: int) -> list[str]:
        del binding_key, limit
        return ["ns/some-shoot"]

    def bindings_of(self, namespace: str, name: str, limit: int) -> list[str]:
        del namespace, name, limit
        return ["ns/some-binding"]

    def usages_of(self, namespace: str, name: str, limit: int) -> list[str]:
        found = [
            key
            for key, record in self.records.items()
            if key.startswith("garden.sapcloud.io/quotausages/")
            and record.object()["spec"]["quotaRef"] == {"namespace": namespace, "name": name}
        ]
        return found[:limit]

    async def catch_up(self) -> None:
        return

    # -- writes -----------------------------------------------------------------------------

    def key_of(self, obj: Object) -> str:
        resource = BY_KIND[obj["kind"]]
        metadata = obj["metadata"]
        return object_key(resource.plural, metadata.get("namespace", ""), metadata["name"])

    def snapshot(self, key: str) -> Snapshot:
        return Snapshot(key, self.records.get(key))

    def get(self, key: str) -> Object:
        return self.records[key].object()

    def charge(self, key: str) -> dict[str, str]:
        record = self.records.get(key)
        return dict(record.header.charge or {}) if record is not None else {}

    def intent(self, key: str, kind: str, obj: Object | None, *, dry_run: bool = False) -> Intent:
        old = self.records.get(key)
        parsed = parse_object_key(key)
        assert parsed is not None
        operation = (
            Operation.DELETE if obj is None else Operation.UPDATE if old else Operation.CREATE
        )
        attributes = Attributes(
            operation=operation,
            resource=BY_KIND[kind],
            namespace=parsed[1],
            name=parsed[2],
            user=USER,
            obj=obj,
            old=old.object() if old is not None else None,
            dry_run=dry_run,
        )
        return Intent(attributes, key, old, obj)

    def change(self, intent: Intent) -> Change:
        kind = intent.attributes.resource.kind
        if kind == "Shoot":
            return ShootChange(intent, self._views)
        if kind == "Quota":
            return QuotaChange(intent, self._views, self)
        if kind.endswith("Binding"):
            return BindingChange(intent, self._views, self)
        return PlainChange(intent)

    def put(self, obj: Object, *, dry_run: bool = False) -> None:
        """Create or replace. Raises StatusError where it is refused."""
        self._run(self.intent(self.key_of(obj), obj["kind"], obj, dry_run=dry_run))

    def delete(self, kind: str, namespace: str, name: str) -> None:
        key = object_key(BY_KIND[kind].plural, namespace, name)
        self._run(self.intent(key, kind, None))

    def _run(self, intent: Intent) -> None:
        change = self.change(intent)
        known: dict[str, Snapshot] = {}
        needs = change.needs(known)
        while needs.missing:
            known.update((key, self.snapshot(key)) for key in needs.missing)
            needs = change.needs(known)
        books = Books(
            {key: self.snapshot(key) for key in (*needs.keys, intent.key)},
            self._views,
            self._around,
        )
        change.apply(books, fold=not intent.attributes.dry_run)
        transaction = books.transaction()
        if transaction is None:
            return
        written = [write.key for write in transaction.writes]
        assert len(written) == len(set(written)), "a key is written twice"
        assert set(written) <= set(transaction.guards), "a written key is not guarded"
        assert set(written) <= {*needs.exclusive, intent.key}, "a key is written without a claim"
        for key, mod_revision in transaction.guards.items():
            assert self.snapshot(key).mod_revision == mod_revision
        self.revision += 1
        for position, write in enumerate(transaction.writes):
            if isinstance(write, Put):
                self.records[write.key] = Record(
                    write.key, self.revision, position, write.body, write.header
                )
            else:
                del self.records[write.key]
