"""The auditor's own sums, which follow from shoots and bindings alone.

    a binding's total      the charges of the shoots that name it, and their number
    a quota's total        the totals of the bindings that name it
    a namespace's total    of those bindings, the ones of that namespace

A shoot's binding lies in the shoot's namespace, so the third is a sum of bindings as well.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from apis.meta.keys import LEDGERS, parse_object_key
from apis.meta.transaction import Record
from quotaapi.auditing.values import (
    BINDINGS,
    Quota,
    Shoot,
    Sums,
    Total,
    Usage,
    read_binding,
    read_quota,
    read_shoot,
    read_usage,
    sums_of,
)

Place = tuple[str, str]
"""(key of a quota, consuming namespace)"""


@dataclass(slots=True)
class Touched:
    """What one revision's changes concern, by key; `quotas` and `places` with the sums before it.

    `repriced`: by how much the sums of a quota or place moved for nobody's demand: the charge of a
    shoot was written anew, and the shoot was not.
    """

    shoots: set[str] = field(default_factory=set)
    bindings: set[str] = field(default_factory=set)
    references: set[str] = field(default_factory=set)
    ledgers: set[str] = field(default_factory=set)
    usages: set[str] = field(default_factory=set)
    quotas: dict[str, Sums] = field(default_factory=dict)
    places: dict[Place, Sums] = field(default_factory=dict)
    repriced: dict[str | Place, Sums] = field(default_factory=dict)


class Accounts:
    """Everything stored that accounting concerns, and the sums that ought to be written beside it."""

    def __init__(self) -> None:
        self.shoots: dict[str, Shoot] = {}
        self.bindings: dict[str, frozenset[str]] = {}
        self.quotas: dict[str, Quota] = {}
        self.usages: dict[str, Usage] = {}
        self.ledgers: dict[str, Total] = {}
        self.usages_of: dict[Place, set[str]] = defaultdict(set)
        self.of_binding: dict[str, Total] = defaultdict(Total)
        self.of_quota: dict[str, Total] = defaultdict(Total)
        self.of_place: dict[Place, Total] = defaultdict(Total)
        self.references: Counter[str] = Counter()
        """Key of a quota -> number of bindings that name it."""
        self._touched = Touched()

    def take_touched(self) -> Touched:
        """What the changes since the last call concern."""
        touched, self._touched = self._touched, Touched()
        return touched

    def change(self, key: str, record: Record | None) -> None:
        """A key's new value, or None for its removal."""
        if key.startswith(LEDGERS):
            self._change_ledger(key, record)
            return
        parsed = parse_object_key(key)
        if parsed is None:
            return
        resource, namespace, _ = parsed
        if resource == "shoots":
            self._change_shoot(key, namespace, record)
        elif resource in BINDINGS:
            self._change_binding(key, namespace, record)
        elif resource == "quotas":
            self._change_quota(key, record)
        elif resource == "quotausages":
            self._change_usage(key, namespace, record)

    def _change_shoot(self, key: str, namespace: str, record: Record | None) -> None:
        self._touched.shoots.add(key)
        old = self.shoots.pop(key, None)
        if old is not None:
            self._post(old.binding, old.total, -1)
        if record is not None:
            new = self.shoots[key] = read_shoot(namespace, record)
            self._post(new.binding, new.total, 1)
            if old is not None and old.body == new.body:
                self._note_price(old, new)

    def _note_price(self, old: Shoot, new: Shoot) -> None:
        """The same object, so of the same binding, with another charge."""
        namespace = new.binding.split("/")[2]
        change = Counter(new.total.charge)
        change.subtract(old.total.charge)
        for quota in self.bindings.get(new.binding, ()):
            for account in (quota, (quota, namespace)):
                self._touched.repriced.setdefault(account, Counter()).update(change)

    def _post(self, binding: str, total: Total, sign: int) -> None:
        self._touched.bindings.add(binding)
        self.of_binding[binding].add(total, sign)
        for quota in self.bindings.get(binding, ()):
            self._enter(quota, binding, total, sign)

    def _enter(self, quota: str, binding: str, total: Total, sign: int) -> None:
        namespace = binding.split("/")[2]
        self._touch_quota(quota)
        self._touch_place(quota, namespace)
        self.of_quota[quota].add(total, sign)
        self.of_place[quota, namespace].add(total, sign)

    def _change_binding(self, key: str, namespace: str, record: Record | None) -> None:
        self._touched.bindings.add(key)
        old = self.bindings.pop(key, frozenset())
        new = read_binding(namespace, record) if record is not None else frozenset()
        for quotas, sign in ((old - new, -1), (new - old, 1)):
            for quota in quotas:
                self._touched.references.add(quota)
                self.references[quota] += sign
                self._enter(quota, key, self.of_binding[key], sign)
        if record is not None:
            self.bindings[key] = new

    def _change_quota(self, key: str, record: Record | None) -> None:
        self._touched.references.add(key)
        self._touch_quota(key)
        self.quotas.pop(key, None)
        if record is not None:
            self.quotas[key] = read_quota(record)

    def _change_usage(self, key: str, namespace: str, record: Record | None) -> None:
        self._touched.usages.add(key)
        old = self.usages.pop(key, None)
        if old is not None:
            self.usages_of[old.quota, namespace].discard(key)
            self._touch_place(old.quota, namespace)
        if record is not None:
            new = self.usages[key] = read_usage(namespace, record)
            self.usages_of[new.quota, namespace].add(key)
            self._touch_place(new.quota, namespace)

    def _change_ledger(self, key: str, record: Record | None) -> None:
        self._touched.ledgers.add(key)
        self.ledgers.pop(key, None)
        if record is not None:
            self.ledgers[key] = Total(sums_of(record.header.charge), record.header.count or 0)

    def _touch_quota(self, quota: str) -> None:
        self._touched.quotas.setdefault(quota, Counter(self.of_quota[quota].charge))

    def _touch_place(self, quota: str, namespace: str) -> None:
        place = (quota, namespace)
        self._touched.places.setdefault(place, Counter(self.of_place[place].charge))
