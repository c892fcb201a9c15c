"""What every ledger ought to hold, from the shoots and bindings of one revision; and how to mend one.

    a binding's ledger     the charges of the shoots that name it, and their number
    a quota's references   the number of bindings that name it
    a QuotaUsage           the totals of the bindings of a namespace that name the quota
    a Quota (`secret`)     the totals of all bindings that name it

*Why a repair is safe.* Whatever changes one of these sums through admission writes the ledger in the
same transaction. So a ledger that is still at the revision of the recount has counted nothing
since, and the recount describes it; one that has moved is left alone and counted anew: newer
charges are never overwritten. There is one exception. A binding's quotas change by what the
binding's ledger holds, not by its shoots; while that ledger is wrong, what moves between quotas is
wrong, too. Hence the ledgers of bindings are mended first, and the others after another recount.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from admission.quota.books import Books, settle_status
from admission.quota.ledger import Needs
from admission.quota.shoots import binding_key_of
from admission.quota.usage import Usage, add, decode, encode, shown
from admission.quota.views import (
    QuotaView,
    Views,
    binding_ledger_of,
    quota_references,
    references_of,
    usage_key,
)
from apis.garden.v1beta1.bindings import BINDING_PLURALS
from apis.meta.keys import LEDGERS, object_key, parse_object_key
from apis.meta.quantity import nanos_of
from apis.meta.transaction import Record, Snapshot

_BINDINGS = frozenset(BINDING_PLURALS.values())
_BINDING_LEDGERS = LEDGERS + "bindings/"


class Kind(IntEnum):
    """Which ledger; in the order in which they are mended."""

    BINDING = 0
    REFERENCES = 1
    USAGE = 2
    QUOTA = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """A ledger that is not as it ought to be. `mod_revision` is where the recount saw it.

    `used` and `count` are what it ought to hold. `quota`: the key of the quota that it is about.
    `drift`: a sum is wrong; otherwise only what is shown of a quota's limits is out of date, which
    happens where very many namespaces use one.
    """

    kind: Kind
    key: str
    mod_revision: int
    used: Usage
    count: int
    quota: str
    drift: bool
    found: str


@dataclass(slots=True)
class _Total:
    used: Usage = field(default_factory=dict)
    count: int = 0


class Recount:
    """`add` everything that is stored at one revision, then ask for the `findings`."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self._totals: dict[str, _Total] = {}
        self._bindings: dict[str, tuple[str, ...]] = {}
        self._quotas: dict[str, Record] = {}
        self._usages: dict[str, Record] = {}
        self._ledgers: dict[str, Record] = {}

    def add(self, records: Iterable[Record]) -> None:
        for record in records:
            if record.key.startswith(LEDGERS):
                self._ledgers[record.key] = record
                continue
            parsed = parse_object_key(record.key)
            resource = parsed[0] if parsed is not None else ""
            if resource == "shoots":
                total = self._totals.setdefault(binding_key_of(record.object()), _Total())
                add(total.used, decode(record.header.charge))
                total.count += 1
            elif resource in _BINDINGS:
                named = quota_references(record.object())
                self._bindings[record.key] = tuple(object_key("quotas", *ref) for ref in named)
            elif resource == "quotas":
                self._quotas[record.key] = record
            elif resource == "quotausages":
                self._usages[record.key] = record

    def findings(self) -> Iterator[Finding | None]:
        """One for each ledger, None where it is right: whoever iterates can let others run.

        Those of bindings come first, and the others only where those are all right.
        """
        spoilt = False
        for finding in self._of_bindings():
            spoilt = spoilt or finding is not None
            yield finding
        if not spoilt:
            yield from self._of_quotas()

    def _of_bindings(self) -> Iterator[Finding | None]:
        expected = {binding_ledger_of(key): total for key, total in self._totals.items()}
        stored = {key for key in self._ledgers if key.startswith(_BINDING_LEDGERS)}
        nothing = _Total()
        for key in sorted(stored | expected.keys()):
            yield self._counted(Kind.BINDING, key, expected.get(key, nothing), "")

    def _of_quotas(self) -> Iterator[Finding | None]:
        references: Counter[str] = Counter()
        places: dict[str, tuple[str, Usage]] = {}
        wholes: dict[str, Usage] = {}
        for binding, quotas in self._bindings.items():
            total = self._totals.get(binding)
            for quota in quotas:
                references[quota] += 1
                if total is not None:
                    key = usage_key(_namespace(binding), *_namespace_and_name(quota))
                    add(places.setdefault(key, (quota, {}))[1], total.used)
                    add(wholes.setdefault(quota, {}), total.used)
            yield None
        by_key = {references_of(quota): (quota, count) for quota, count in references.items()}
        stored = {key for key in self._ledgers if not key.startswith(_BINDING_LEDGERS)}
        for key in sorted(stored | by_key.keys()):
            quota, count = by_key.get(key, ("", 0))
            yield self._counted(Kind.REFERENCES, key, _Total(count=count), quota)
        for key in sorted(self._usages.keys() | places.keys()):
            quota, used = places.get(key, ("", {}))
            yield self._usage(key, quota, used)
        for key, record in self._quotas.items():
            yield self._quota(record, wholes.get(key, {}))

    def _counted(self, kind: Kind, key: str, total: _Total, quota: str) -> Finding | None:
        record = self._ledgers.get(key)
        used = decode(record.header.charge) if record is not None else {}
        count = (record.header.count or 0) if record is not None else 0
        if (used, count) == (total.used, total.count):
            return None
        found = f"{count} and {encode(used)}"
        return Finding(kind, key, _mod(record), total.used, total.count, quota, True, found)

    def _usage(self, key: str, quota: str, expected: Usage) -> Finding | None:
        record = self._usages.get(key)
        used = decode(record.header.charge) if record is not None else {}
        status = (record.object().get("status") or {}) if record is not None else {}
        listed = status.get("used") or {}
        drift = used != expected or (record is not None and not expected)
        drift = drift or not _shows(listed, expected, self._view(quota))
        if not drift and record is not None and (view := self._view(quota)) is not None:
            hard = {} if view.secret else dict(view.hard)
            if listed.keys() == view.hard.keys() and (status.get("hard") or {}) == hard:
                return None
        elif not drift:
            return None
        found = f"{encode(used)}, shown {dict(listed)}"
        return Finding(Kind.USAGE, key, _mod(record), expected, 0, quota, drift, found)

    def _quota(self, record: Record, expected: Usage) -> Finding | None:
        view = self._views.quota(record)
        if not view.secret:
            return None
        used = decode(record.header.charge)
        obj = record.object()
        before = dict(obj.get("status") or {})
        settle_status(obj, view, expected)
        if used == expected and before == obj["status"]:
            return None
        found = f"{encode(used)}, shown {before.get('used')}"
        mod_revision = record.mod_revision
        return Finding(Kind.QUOTA, record.key, mod_revision, expected, 0, record.key, True, found)

    def _view(self, quota: str) -> QuotaView | None:
        record = self._quotas.get(quota)
        return self._views.quota(record) if record is not None else None


def _shows(listed: Mapping[str, str], used: Usage, view: QuotaView | None) -> bool:
    """Whether the amounts that are shown are right, whichever they are."""
    if view is None:
        return True
    right = shown(view.limits, used)
    return all(nanos_of(right[m]) == nanos_of(q) for m, q in listed.items() if m in right)


def _mod(record: Record | None) -> int:
    return record.mod_revision if record is not None else 0


def _namespace(key: str) -> str:
    return _namespace_and_name(key)[0]


def _namespace_and_name(key: str) -> tuple[str, str]:
    parsed = parse_object_key(key)
    if parsed is None:
        raise ValueError(f"not an object's key: {key}")
    return parsed[1], parsed[2]


class RecountChange:
    """Set a ledger to what a recount found, if it still is where the recount saw it."""

    size_bytes = 0

    def __init__(self, finding: Finding) -> None:
        self.key = finding.key
        self.moved = False
        """Whether the last evaluation found the ledger written since."""
        self._finding = finding
        self._quota = finding.quota if finding.quota != finding.key else ""

    def needs(self, known: Mapping[str, Snapshot]) -> Needs:
        del known
        shared = frozenset((self._quota,)) if self._quota else frozenset()
        return Needs(frozenset((self.key,)), shared)

    def apply(self, books: Books, *, fold: bool) -> None:
        finding = self._finding
        self.moved = _mod(books.look(self.key)) != finding.mod_revision
        if self.moved or not fold:
            return
        if finding.kind in (Kind.BINDING, Kind.REFERENCES):
            counted = books.count_ledger(self.key)
            counted.count, counted.used, counted.touched = finding.count, dict(finding.used), True
        elif finding.kind is Kind.QUOTA:
            whole = books.quota_ledger(self.key)
            whole.used, whole.touched = dict(finding.used), True
        else:
            self._mend_usage(books)

    def _mend_usage(self, books: Books) -> None:
        quota = books.quota(self._quota) if self._quota else None
        if quota is not None:
            usage = books.usage_ledger(self.key, quota)
            usage.used, usage.touched = dict(self._finding.used), True
        elif self._finding.used:
            raise ValueError(f"{self.key} counts on a quota that does not exist")
        elif books.look(self.key) is not None:
            books.remove(self.key)
