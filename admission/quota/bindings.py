"""What a write of a binding does to the books: references are counted, charges move.

Three promises are kept here. A binding names only quotas that exist: they are guarded. A binding
with shoots is not deleted: its ledger is guarded at "no shoots". When the quotas of a binding
change, the sum of its shoots' charges leaves the ledgers of the quotas that it no longer names and
enters those of the new ones, however many shoots there are; a quota into which the sum does not
fit refuses the change.
"""

from collections.abc import Mapping, Sequence

from admission.interface import Intent
from admission.quota.books import Books, CountLedger, QuotaLedger, UsageLedger
from admission.quota.ledger import NOTHING, Directory, Needs
from admission.quota.shoots import invalid
from admission.quota.usage import Usage, exceeded, refusal, refusals_text
from admission.quota.views import (
    QuotaView,
    Views,
    binding_ledger_of,
    quota_references,
    references_of,
    stop_of,
)
from apis.meta import errors, fields
from apis.meta.keys import object_key
from apis.meta.transaction import NO_HEADER, Object, Snapshot, encode_body

ONE_PER_SCOPE = "Only one quota per scope (project or secret) can be assigned"
NAMED_USERS = 10
"""How many users of an object a refusal names."""


def quota_keys(obj: Object | None) -> tuple[str, ...]:
    if obj is None:
        return ()
    return tuple(object_key("quotas", ns, name) for ns, name in quota_references(obj))


def named(users: Sequence[str], count: int) -> str:
    """Some of the users of an object that is in use, for a refusal; there are `count` in all."""
    some = ", ".join(users)
    more = count - len(users)
    if not some:
        return f"{count} of them"
    return f"{some} and {more} more" if more > 0 else some


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def is_terminating(obj: Object | None) -> bool:
    return obj is not None and "deletionTimestamp" in obj["metadata"]


class BindingChange:
    """A create, an update, the marking for deletion or the removal of a binding."""

    def __init__(self, intent: Intent, views: Views, directory: Directory) -> None:
        self.key = intent.key
        self._attributes = intent.attributes
        self._obj = intent.obj
        self._old = intent.attributes.old
        self._views = views
        self._directory = directory
        self._header = intent.old.header if intent.old is not None else NO_HEADER
        self._body = encode_body(intent.obj) if intent.obj is not None else b""
        self._ledger = binding_ledger_of(intent.key)
        before, after = quota_keys(self._old), quota_keys(self._obj)
        self._added = tuple(key for key in after if key not in before)
        self._removed = tuple(key for key in before if key not in after)
        self._kept = tuple(key for key in after if key in before)
        self._ends = intent.obj is None
        self._is_marked = is_terminating(self._obj) and not is_terminating(self._old)
        self.size_bytes = len(self._body)

    def needs(self, known: Mapping[str, Snapshot]) -> Needs:
        moves = self._added or self._removed
        if not (moves or self._ends or self._is_marked):
            return NOTHING
        quotas = {*self._added, *self._removed, *(self._kept if self._added else ())}
        if missing := quotas - known.keys():
            return Needs(missing=frozenset(missing))
        exclusive = {references_of(key) for key in (*self._added, *self._removed)}
        if self._ends:
            exclusive.add(self._ledger)
        for key in (*self._added, *self._removed):
            record = known[key].record
            if record is not None:
                stop = stop_of(self._views.quota(record), self._attributes.namespace)
                exclusive.add(stop.usage)
                if stop.secret:
                    exclusive.add(key)
        return Needs(frozenset(exclusive), frozenset({*quotas, self._ledger} - exclusive))

    def apply(self, books: Books, *, fold: bool) -> None:
        books.look(self.key)
        if self._ends or self._is_marked:
            self._refuse_if_used(books)
        if self._added or self._removed:
            self._move(books, fold=fold)
        if not fold:
            return
        if self._ends:
            books.count_ledger(self._ledger).touched = True
            books.remove(self.key)
        else:
            books.put(self.key, self._body, self._header)

    def _refuse_if_used(self, books: Books) -> None:
        shoots = books.count_ledger(self._ledger).count
        if shoots:
            users = named(self._directory.shoots_of(self.key, NAMED_USERS), shoots)
            raise errors.conflict(
                self._attributes.resource,
                self._attributes.name,
                f"it is used by {counted(shoots, 'shoot')}: {users}; delete them first",
            )

    def _move(self, books: Books, *, fold: bool) -> None:
        added = self._find_added(books)
        moving = self._moving(books)
        entering = [(quota, *self._ledgers(books, quota)) for quota in added]
        leaving = []
        for key in self._removed:
            quota = books.quota(key)
            if quota is not None:
                leaving.append((quota, *self._ledgers(books, quota)))
        self._judge(entering, moving)
        if not fold:
            return
        for key in self._added:
            self._count(books, key, 1)
        for key in self._removed:
            self._count(books, key, -1)
        back = {metric: -nanos for metric, nanos in moving.items()}
        for _, usage, whole in leaving:
            books.post([usage] if whole is None else [usage, whole], back)
        for _, usage, whole in entering:
            books.post([usage] if whole is None else [usage, whole], moving)

    def _moving(self, books: Books) -> Usage:
        """The sum of the charges of this binding's shoots; a copy, since ledgers change."""
        ledger: CountLedger = books.count_ledger(self._ledger)
        return dict(ledger.used)

    def _find_added(self, books: Books) -> list[QuotaView]:
        """The quotas newly named, all of which must exist and stay; one of each scope at most."""
        found, causes = [], []
        for key in self._added:
            quota = books.quota(key)
            if quota is None or quota.terminating:
                causes.append(self._missing(key, quota))
            else:
                found.append(quota)
        if causes:
            raise invalid(self._attributes, tuple(causes))
        if self._added:
            kept = [q for key in self._kept if (q := books.quota(key)) is not None]
            scopes = [quota.secret for quota in (*found, *kept)]
            if len(scopes) != len(set(scopes)):
                raise self._forbidden(ONE_PER_SCOPE)
        return found

    def _missing(self, key: str, quota: QuotaView | None) -> fields.FieldError:
        path = f"quotas[{quota_keys(self._obj).index(key)}]"
        if quota is None:
            namespace, name = key.split("/")[-2:]
            return fields.no_object(path, "Quota", name, namespace)
        where = f"the Quota in namespace {fields.go_quote(quota.namespace)} is being deleted"
        return fields.not_found(path, quota.name, where)

    def _ledgers(self, books: Books, quota: QuotaView) -> tuple[UsageLedger, QuotaLedger | None]:
        stop = stop_of(quota, self._attributes.namespace)
        usage = books.usage_ledger(stop.usage, quota)
        return usage, books.quota_ledger(quota.key) if stop.secret else None

    def _judge(
        self, entering: list[tuple[QuotaView, UsageLedger, QuotaLedger | None]], moving: Usage
    ) -> None:
        refusals, full = [], []
        for quota, usage, whole in entering:
            used = whole.used if whole is not None else usage.used
            if over := exceeded(quota.limits, used, moving):
                full.append((quota.namespace, quota.name))
                refusals.append(refusal(quota.name, over, used, moving))
        if refusals:
            raise self._forbidden(refusals_text(refusals, full))

    @staticmethod
    def _count(books: Books, quota_key: str, step: int) -> None:
        ledger = books.count_ledger(references_of(quota_key))
        ledger.count += step
        ledger.touched = True
        if ledger.count < 0:
            raise ValueError(f"ledger {ledger.key} would fall below zero")

    def _forbidden(self, why: str) -> errors.StatusError:
        return errors.forbidden(self._attributes.resource, self._attributes.name, why)
