"""The running balances of one batch, and the transaction that they become.

Books are opened on the newest values of every key that the batch has claimed. Changes are applied
one after the other, each judged against what the earlier ones left; what is admitted is folded
in. At the end every ledger that was touched is written once, whatever number of changes touched
it, together with the objects, and every key that anybody looked at is guarded at the revision
at which it was seen.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from admission.quota.ledger import Surroundings
from admission.quota.usage import Usage, add, decode, encode, shown
from admission.quota.views import BindingView, QuotaView, Views
from apis.meta.keys import parse_object_key
from apis.meta.times import format_rfc3339
from apis.meta.transaction import (
    NO_HEADER,
    Delete,
    Header,
    Object,
    Put,
    Record,
    Snapshot,
    Transaction,
    Write,
    encode_body,
)

HIDDEN = b"{}"
"""The body of a ledger that is no API object."""


class Ledger(Protocol):
    """A balance that is written when it was touched."""

    key: str
    touched: bool

    def write(self) -> Write | None:
        """What makes the stored value agree; None where nothing is stored and nothing is due."""
        ...


class QuotaLedger:
    """What all shoots of a quota of `secret` scope are charged; lives in the Quota itself."""

    def __init__(self, record: Record, views: Views) -> None:
        self.key = record.key
        self.used: Usage = decode(record.header.charge)
        self.touched = False
        self._record = record
        self._views = views

    def write(self) -> Write:
        obj, view = self._record.object(), self._views.quota(self._record)
        settle_status(obj, view, self.used)
        body = encode_body(obj)
        self._views.wrote(body, view)
        return Put(self.key, body, Header(charge=encode(self.used)))


def settle_status(obj: Object, view: QuotaView, used: Usage) -> None:
    """Fill in the server's own part of a `secret` quota's status; conditions stay as they are."""
    status = obj.get("status") or {}
    status["hard"] = dict(view.hard)
    status["used"] = shown(view.limits, used)
    status["observedGeneration"] = obj["metadata"].get("generation", 1)
    obj["status"] = status


class UsageLedger:
    """What one namespace's shoots are charged on a quota: the QuotaUsage, gone at zero."""

    def __init__(
        self, key: str, record: Record | None, quota: QuotaView, around: Surroundings
    ) -> None:
        self.key = key
        self.used: Usage = decode(record.header.charge) if record is not None else {}
        self.touched = False
        self._record = record
        self._quota = quota
        self._around = around

    def write(self) -> Write | None:
        if not self.used:
            return Delete(self.key) if self._record is not None else None
        obj = self._record.object() if self._record is not None else self._new()
        status = {"used": shown(self._quota.limits, self.used)}
        if not self._quota.secret:
            status["hard"] = dict(self._quota.hard)
        obj["status"] = status
        return Put(self.key, encode_body(obj), Header(charge=encode(self.used)))

    def _new(self) -> Object:
        parsed = parse_object_key(self.key)
        if parsed is None:
            raise ValueError(f"not an object's key: {self.key}")
        _, namespace, name = parsed
        return {
            "apiVersion": "garden.sapcloud.io/v1beta1",
            "kind": "QuotaUsage",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": self._around.new_uid(),
                "creationTimestamp": format_rfc3339(self._around.clock()),
                "generation": 1,
            },
            "spec": {
                "quotaRef": {"namespace": self._quota.namespace, "name": self._quota.name},
                "scope": "secret" if self._quota.secret else "project",
            },
        }


class CountLedger:
    """A hidden record: how many objects refer to one, and the sum of their charges if they have any.

    Gone at zero.
    """

    def __init__(self, key: str, record: Record | None) -> None:
        header = record.header if record is not None else NO_HEADER
        self.key = key
        self.count = header.count or 0
        self.used: Usage = decode(header.charge)
        self.touched = False
        self._record = record

    def write(self) -> Write | None:
        if not self.count:
            return Delete(self.key) if self._record is not None else None
        return Put(self.key, HIDDEN, Header(charge=encode(self.used) or None, count=self.count))


class Books:
    """See the module. `snapshots` has every key that the batch's changes said they need."""

    def __init__(
        self, snapshots: Mapping[str, Snapshot], views: Views, around: Surroundings
    ) -> None:
        self.around = around
        self.views = views
        self._snapshots = snapshots
        self._relied: set[str] = set()
        self._objects: dict[str, Write] = {}
        self._ledgers: dict[str, Ledger] = {}

    @property
    def snapshots(self) -> Mapping[str, Snapshot]:
        return self._snapshots

    def look(self, key: str) -> Record | None:
        """The record under `key`; the transaction will guard it."""
        self._relied.add(key)
        return self._snapshots[key].record

    def quota(self, key: str) -> QuotaView | None:
        record = self.look(key)
        return self.views.quota(record) if record is not None else None

    def binding(self, key: str) -> BindingView | None:
        record = self.look(key)
        return self.views.binding(record) if record is not None else None

    def quota_ledger(self, key: str) -> QuotaLedger:
        found = self._ledgers.get(key)
        if found is None:
            record = self.look(key)
            if record is None:
                raise ValueError(f"no quota to charge: {key}")
            found = self._ledgers[key] = QuotaLedger(record, self.views)
        if not isinstance(found, QuotaLedger):
            raise TypeError(key)
        return found

    def usage_ledger(self, key: str, quota: QuotaView) -> UsageLedger:
        found = self._ledgers.get(key)
        if found is None:
            record = self.look(key)
            found = self._ledgers[key] = UsageLedger(key, record, quota, self.around)
        if not isinstance(found, UsageLedger):
            raise TypeError(key)
        return found

    def count_ledger(self, key: str) -> CountLedger:
        found = self._ledgers.get(key)
        if found is None:
            found = self._ledgers[key] = CountLedger(key, self.look(key))
        if not isinstance(found, CountLedger):
            raise TypeError(key)
        return found

    def put(self, key: str, body: bytes, header: Header) -> None:
        self._relied.add(key)
        self._objects[key] = Put(key, body, header)

    def remove(self, key: str) -> None:
        self._relied.add(key)
        self._objects[key] = Delete(key)

    def post(
        self, ledgers: Iterable[QuotaLedger | UsageLedger | CountLedger], delta: Usage
    ) -> None:
        """Enter a difference in several ledgers."""
        if delta:
            for ledger in ledgers:
                add(ledger.used, delta)
                ledger.touched = True

    @property
    def evidence(self) -> dict[str, int]:
        """Every key that was looked at, with the revision at which it was seen."""
        return {key: self._snapshots[key].mod_revision for key in self._relied}

    def transaction(self) -> Transaction | None:
        """All that was entered; None where nothing was."""
        ledgers = (ledger.write() for ledger in self._ledgers.values() if ledger.touched)
        writes = [*self._objects.values(), *(write for write in ledgers if write is not None)]
        return Transaction(self.evidence, writes) if writes else None
