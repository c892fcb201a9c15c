"""What a write of a shoot does to the books: charge, charge the difference, return."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from admission.interface import Intent
from admission.metering.charges import (
    Charged,
    Unpriceable,
    charge,
    forbidden_machine_types,
    has_new_prices,
    is_reduction,
    same_demand,
)
from admission.metering.lifetimes import LIVES
from admission.quota.books import Books, QuotaLedger, UsageLedger
from admission.quota.ledger import NOTHING, Needs
from admission.quota.usage import Usage, decode, difference, exceeded, refusal, refusals_text
from admission.quota.views import QuotaView, Route, Views
from apis.garden.v1beta1.bindings import BINDING_PLURALS
from apis.garden.v1beta1.shoot import DEFAULT_BINDING_KIND, binding_of
from apis.meta import errors, fields
from apis.meta.keys import object_key
from apis.meta.request import Attributes
from apis.meta.transaction import NO_HEADER, Header, Object, Record, Snapshot, encode_body

BINDING_REF = "spec.cloud.secretBindingRef.name"
PROFILE = "spec.cloud.profile"


def binding_key_of(shoot: Object) -> str:
    """The key of the binding that a shoot names, in the shoot's own namespace.

    Raises LookupError for a stored shoot of a form that is unknown here: unlike `shoot.binding_of`,
    which answers with nothing, and nothing must be accounted for by guess.
    """
    ref = shoot["spec"]["cloud"]["secretBindingRef"]
    plural = BINDING_PLURALS[ref.get("kind") or DEFAULT_BINDING_KIND]
    return object_key(plural, shoot["metadata"]["namespace"], ref["name"])


class ShootChange:
    """A create, an update or the removal of a shoot.

    Whether it is metered is decided by what changes, not by the verb: a write that leaves the
    demand as it was (status, labels, finalizers) touches no ledger and no quota can refuse it.

    Where the profile's prices have changed since the shoot was charged, an update is charged the
    difference at the prices of before: what the new ones add is for `recharges`, which asks no
    limit. Growth has to fit at both price lists.
    """

    def __init__(self, intent: Intent, views: Views) -> None:
        self.key = intent.key
        self._attributes = intent.attributes
        self._obj = intent.obj
        self._old = intent.attributes.old
        self._header = intent.old.header if intent.old is not None else NO_HEADER
        self._body = encode_body(intent.obj) if intent.obj is not None else b""
        self._views = views
        subject = intent.obj if intent.obj is not None else self._old
        if subject is None:
            raise ValueError("neither an old nor a new shoot")
        self._binding = binding_key_of(subject)
        self._profile = object_key("cloudprofiles", "", subject["spec"]["cloud"]["profile"])
        self.size_bytes = len(self._body)
        self._planned: tuple[Record, Needs] | None = None
        """What is needed, by the binding's record on which that depends."""

    @cached_property
    def metered(self) -> bool:
        if self._obj is None:
            return True
        if self._old is None:
            return True
        return not same_demand(self._obj, self._old)

    def route(self, known: Mapping[str, Snapshot]) -> Route | None:
        """Where the charge lands, once the binding and its quotas are known."""
        binding = known.get(self._binding)
        if binding is None or binding.record is None:
            return None
        found = self._views.route(binding.record, known)
        return found if isinstance(found, Route) else None

    def needs(self, known: Mapping[str, Snapshot]) -> Needs:
        if not self.metered:
            return NOTHING
        profile = frozenset() if self._obj is None else frozenset((self._profile,))
        binding = known.get(self._binding)
        if binding is None:
            return Needs(missing=frozenset((self._binding,)))
        if binding.record is None:
            return Needs(shared=profile | {self._binding})
        if self._planned is not None and self._planned[0] is binding.record:
            return self._planned[1]
        route = self._views.route(binding.record, known)
        if not isinstance(route, Route):
            return Needs(missing=route)
        needs = Needs(route.exclusive, route.shared | profile)
        if len(route.stops) == len(self._views.binding(binding.record).quotas):
            self._planned = (binding.record, needs)
        return needs

    def apply(self, books: Books, *, fold: bool) -> None:
        books.look(self.key)
        if not self.metered:
            if fold:
                books.put(self.key, self._body, self._header)
            return
        if self._obj is None:
            self._return(books, fold=fold)
            return
        binding = books.binding(self._binding)
        if binding is None:
            kind, name = binding_of(self._obj)
            namespace = self._attributes.namespace
            raise self._invalid(fields.no_object(BINDING_REF, kind, name, namespace))
        if binding.terminating and self._old is None:
            raise errors.forbidden(
                self._attributes.resource,
                self._attributes.name,
                f"its secret binding {binding_of(self._obj)[1]} is being deleted",
            )
        header, asked = self._price(books, self._obj)
        route, ledgers = self._open(books)
        self._check_lives(quota for quota, _, _ in ledgers)
        self._judge(books, route, ledgers, asked)
        if fold:
            delta = difference(decode(header.charge), decode(self._header.charge))
            self._enter(books, route, ledgers, delta, count=1 if self._old is None else 0)
            books.put(self.key, self._body, header)

    def _return(self, books: Books, *, fold: bool) -> None:
        """Give back what was charged, wherever the binding's quotas put it."""
        if not fold:
            return
        route, ledgers = self._open(books)
        delta = {metric: -nanos for metric, nanos in decode(self._header.charge).items()}
        self._enter(books, route, ledgers, delta, count=-1)
        books.remove(self.key)

    def _price(self, books: Books, obj: Object) -> tuple[Header, Usage]:
        """The header to store, and what is asked of the quotas."""
        profile, stored = self._profile_of(books), self._header.prices
        try:
            priced = charge(obj, profile, stored)
            added: Usage = {}
            if self._old is not None and has_new_prices(priced.prices, stored):
                admitted = charge(obj, profile, stored, as_admitted=True)
                if _is_dearer(priced, admitted):
                    before = charge(self._old, profile, stored)
                    added = difference(decode(priced.charge), decode(before.charge))
                    priced = admitted
        except Unpriceable as unknown:
            raise self._invalid(*unknown.errors) from unknown
        asked = difference(decode(priced.charge), decode(self._header.charge))
        for metric, nanos in added.items():
            asked[metric] = max(nanos, asked.get(metric, 0))
        return Header(charge=priced.charge, prices=priced.prices), asked

    def _profile_of(self, books: Books) -> Record | None:
        """The profile; it may be gone only where the shoot's own price list can stand in for it."""
        profile = books.look(self._profile)
        if profile is None and self._old is None:
            name = self._profile.rpartition("/")[2]
            raise self._invalid(fields.no_object(PROFILE, "CloudProfile", name))
        return profile

    def _open(
        self, books: Books
    ) -> tuple[Route, list[tuple[QuotaView, UsageLedger, QuotaLedger | None]]]:
        route = self.route(books.snapshots)
        if route is None:
            raise ValueError(f"binding of a stored shoot is gone: {self._binding}")
        for key in route.shared:
            books.look(key)
        ledgers = []
        for stop in route.stops:
            quota = books.quota(stop.quota)
            if quota is None:
                raise ValueError(f"quota of a stored binding is gone: {stop.quota}")
            usage = books.usage_ledger(stop.usage, quota)
            ledgers.append((quota, usage, books.quota_ledger(stop.quota) if stop.secret else None))
        return route, ledgers

    def _check_lives(self, quotas: Iterable[QuotaView]) -> None:
        """A new shoot's expiration was judged before its binding and quotas were guarded."""
        relied_on = self._attributes.relied_on.get(LIVES)
        if relied_on is not None and relied_on != tuple(
            q.life for q in quotas if q.life is not None
        ):
            raise errors.timeout(
                "the secret binding, or the lifetime that its quotas allow, changed meanwhile; "
                "nothing was stored",
                1,
            )

    def _judge(
        self,
        books: Books,
        route: Route,
        ledgers: list[tuple[QuotaView, UsageLedger, QuotaLedger | None]],
        asked: Usage,
    ) -> None:
        """Every quota must allow it; all that do not are named."""
        if len(route.stops) != len(self._quota_keys(books)):
            raise self._forbidden("a quota of its secret binding does not exist")
        if self._old is not None and self._obj is not None and is_reduction(self._obj, self._old):
            return
        refusals, full = [], []
        for quota, usage, whole in ledgers:
            used = whole.used if whole is not None else usage.used
            if over := exceeded(quota.limits, used, asked):
                full.append((quota.namespace, quota.name))
                refusals.append(refusal(quota.name, over, used, asked))
            if quota.machine_types is not None and self._obj is not None:
                wrong = forbidden_machine_types(self._obj, self._old, quota.machine_types)
                refusals.extend(f"quota {quota.namespace}/{quota.name}: {error}" for error in wrong)
        if refusals:
            notes = fields.notes_of_defaults(self._attributes.defaulted)
            raise self._forbidden("; ".join([refusals_text(refusals, full), *notes]))

    def _quota_keys(self, books: Books) -> tuple[str, ...]:
        binding = books.binding(self._binding)
        return binding.quota_keys if binding is not None else ()

    def _enter(
        self,
        books: Books,
        route: Route,
        ledgers: list[tuple[QuotaView, UsageLedger, QuotaLedger | None]],
        delta: Usage,
        *,
        count: int,
    ) -> None:
        account = books.count_ledger(route.ledger)
        account.count += count
        if account.count < 0:
            raise ValueError(f"ledger {route.ledger} would fall below zero")
        account.touched = account.touched or bool(count)
        every: list[QuotaLedger | UsageLedger] = [usage for _, usage, _ in ledgers]
        every.extend(whole for _, _, whole in ledgers if whole is not None)
        books.post([*every, account], delta)

    def _forbidden(self, why: str) -> errors.StatusError:
        return errors.forbidden(self._attributes.resource, self._attributes.name, why)

    def _invalid(self, *causes: fields.FieldError) -> errors.StatusError:
        return invalid(self._attributes, causes)


def _is_dearer(one: Charged, other: Charged) -> bool:
    """Whether it charges more of any metric."""
    charged = decode(other.charge)
    return any(nanos > charged.get(metric, 0) for metric, nanos in decode(one.charge).items())


def invalid(attributes: Attributes, causes: tuple[fields.FieldError, ...]) -> errors.StatusError:
    resource = attributes.resource
    faults = fields.blame_defaults(causes, attributes.defaulted)
    return errors.invalid(resource.kind, resource.group, attributes.name, faults)
