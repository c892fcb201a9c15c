"""The auditor against worlds whose ledgers are recomputed from nothing, and against spoilt ones."""

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hypothesis import assume, given
from hypothesis import strategies as st

from apis.garden.v1beta1.metrics import canonical_metric
from apis.meta.keys import binding_ledger_key, object_key, quota_references_key
from apis.meta.transaction import Header, Object, Record, encode_body
from quotaapi.auditing.auditor import Auditor
from quotaapi.auditing.values import Change, Violation
from tests.builders import a_binding, a_quota, a_shoot, an_object

QUOTA_NAMESPACE = "garden-trial"
NAMESPACES = ("garden-a", "garden-b")
QUOTAS = ("q1", "q2", "q3")
BINDINGS = ("b1", "b2")
METRICS = ("cpu", "cpus", "loadbalancers", "disk.standard", "storage.standard", "shoots")
CHARGED = ("cpu", "loadbalancer", "storage.standard")


@dataclass(frozen=True)
class World:
    """Quotas by name, bindings by (namespace, name), shoots by (namespace, name)."""

    quotas: Mapping[str, tuple[str, frozenset[str]]]
    bindings: Mapping[tuple[str, str], frozenset[str]]
    shoots: Mapping[tuple[str, str], tuple[str, Mapping[str, int]]]


Values = dict[str, tuple[bytes, Header]]
"""Key -> body and header."""


def total(charges: list[Mapping[str, int]]) -> dict[str, int]:
    return dict(sum((Counter(c) for c in charges), Counter()))


def texts(sums: Mapping[str, int]) -> dict[str, str]:
    return {metric: str(value) for metric, value in sums.items() if value}


def used(metrics: frozenset[str], sums: Mapping[str, int]) -> dict[str, str]:
    return {name: str(sums.get(canonical_metric(name) or "", 0)) for name in metrics}


def charges_of(world: World, quota: str, namespace: str = "") -> list[Mapping[str, int]]:
    return [
        charge
        for (where, _), (binding, charge) in world.shoots.items()
        if quota in world.bindings[where, binding] and namespace in ("", where)
    ]


def render(world: World) -> Values:
    """Everything that is stored in a world whose accounts are exact."""
    found: Values = {}

    def put(key: str, obj: Object, header: Header) -> None:
        found[key] = (encode_body(obj), header)

    for name, (scope, metrics) in world.quotas.items():
        key = object_key("quotas", QUOTA_NAMESPACE, name)
        hard = dict.fromkeys(sorted(metrics), "100")
        quota = a_quota(name=name, scope=scope, metrics=hard) | {}
        quota["spec"]["metrics"] = hard
        header = Header()
        if scope == "secret":
            sums = total(charges_of(world, name))
            quota["status"] = {"hard": hard, "used": used(metrics, sums)}
            header = Header(charge=texts(sums))
        put(key, quota, header)
        for namespace in NAMESPACES:
            charges = charges_of(world, name, namespace)
            if charges:
                usage = render_usage(name, namespace, scope, hard, total(charges))
                put(*usage, Header(charge=texts(total(charges))))
        count = sum(name in names for names in world.bindings.values())
        if count:
            found[quota_references_key(QUOTA_NAMESPACE, name)] = (b"{}", Header(count=count))
    for (namespace, name), names in world.bindings.items():
        key = object_key("crosssecretbindings", namespace, name)
        put(key, a_binding(name=name, namespace=namespace, quotas=sorted(names)), Header())
        charges = [c for (ns, _), (b, c) in world.shoots.items() if (ns, b) == (namespace, name)]
        if charges:
            ledger = binding_ledger_key("crosssecretbindings", namespace, name)
            found[ledger] = (b"{}", Header(charge=texts(total(charges)), count=len(charges)))
    for (namespace, name), (binding, charge) in world.shoots.items():
        shoot = a_shoot(name=name, namespace=namespace, binding=binding)
        put(object_key("shoots", namespace, name), shoot, Header(charge=texts(charge)))
    return found


def render_usage(
    quota: str, namespace: str, scope: str, hard: Mapping[str, str], sums: Mapping[str, int]
) -> tuple[str, Object]:
    name = f"{QUOTA_NAMESPACE}.{quota}"
    status: Object = {"used": used(frozenset(hard), sums)}
    if scope == "project":
        status["hard"] = dict(hard)
    spec = {"quotaRef": {"namespace": QUOTA_NAMESPACE, "name": quota}, "scope": scope}
    usage = an_object("QuotaUsage", name=name, namespace=namespace, spec=spec, status=status)
    return object_key("quotausages", namespace, name), usage


def records(values: Values, revision: int) -> list[Record]:
    return [
        Record(key, revision, position, body, header)
        for position, (key, (body, header)) in enumerate(sorted(values.items()))
    ]


def changes(old: Values, new: Values, revision: int) -> list[Change]:
    moved = {key: value for key, value in new.items() if old.get(key) != value}
    removed: list[Change] = [(key, None) for key in old.keys() - new.keys()]
    return removed + [(record.key, record) for record in records(moved, revision)]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    metrics = st.frozensets(st.sampled_from(METRICS), min_size=1).filter(
        lambda names: len({canonical_metric(name) for name in names}) == len(names)
    )
    scopes = dict(zip(QUOTAS, ("secret", "project", "secret"), strict=True))
    existing = draw(st.frozensets(st.sampled_from(QUOTAS)))
    quotas = {name: (scopes[name], draw(metrics)) for name in sorted(existing)}
    bindings = {}
    for namespace in NAMESPACES:
        for name in draw(st.frozensets(st.sampled_from(BINDINGS))):
            named = (
                st.frozensets(st.sampled_from(sorted(quotas))) if quotas else st.just(frozenset())
            )
            bindings[namespace, name] = draw(named)
    shoots = {}
    charge = st.dictionaries(st.sampled_from(CHARGED), st.integers(1, 9)).map(
        lambda drawn: drawn | {"shoots": 1}
    )
    for namespace, binding in sorted(bindings):
        for name in draw(st.frozensets(st.sampled_from(("s1", "s2", "s3")))):
            shoots[namespace, f"{binding}-{name}"] = (binding, draw(charge))
    return World(quotas, bindings, shoots)


def audit(*states: Values) -> list[Violation]:
    """What the last of a history's states is found guilty of."""
    auditor = Auditor()
    found = auditor.load(1, records(states[0], 1))
    for revision, (old, new) in enumerate(itertools.pairwise(states), start=2):
        found = auditor.apply(revision, changes(old, new, revision))
    return found


@given(st.lists(worlds(), min_size=1, max_size=5))
def test_exact_accounts_are_never_blamed(history: list[World]) -> None:
    auditor = Auditor()
    states = [render(world) for world in history]

    found = auditor.load(1, records(states[0], 1))
    for revision, (old, new) in enumerate(itertools.pairwise(states), start=2):
        found += auditor.apply(revision, changes(old, new, revision))

    assert found == []


@given(worlds(), worlds(), st.data())
def test_a_ledger_that_a_transaction_forgot_is_found(
    before: World, after: World, data: st.DataObject
) -> None:
    old, new = render(before), render(after)
    ledgers = [
        key for key in accounts(old) | accounts(new) if charged(old, key) != charged(new, key)
    ]
    assume(ledgers)
    forgotten = data.draw(st.sampled_from(sorted(ledgers)))
    if forgotten in old:
        new[forgotten] = old[forgotten]
    else:
        del new[forgotten]

    assert audit(old, new) != []


@given(worlds(), worlds(), st.sampled_from(["metric", "count", "shown"]), st.data())
def test_a_ledger_that_is_written_wrong_is_found(
    before: World, after: World, how: str, data: st.DataObject
) -> None:
    old, new = render(before), render(after)
    spoilt = {key: value for key in new if (value := spoil(new[key], how)) is not None}
    # A shoot's own charge is the truth: only what is summed from it can be wrong.
    candidates = sorted(spoilt.keys() & accounts(new))
    assume(candidates)
    key = data.draw(st.sampled_from(candidates))
    new[key] = spoilt[key]

    assert audit(old, new) != []


@given(worlds(), worlds(), st.data())
def test_a_reference_that_dangles_is_found(
    before: World, after: World, data: st.DataObject
) -> None:
    old, new = render(before), render(after)
    named = {key for key in new if "/quotas/" in key or "bindings/" in key}
    in_use = sorted(key for key in named - accounts_only(new) if is_in_use(after, key))
    assume(in_use)
    del new[data.draw(st.sampled_from(in_use))]

    assert audit(old, new) != []


@given(worlds(), worlds())
def test_the_same_history_gives_the_same_verdict_whatever_the_order_of_changes(
    before: World, after: World
) -> None:
    old, new = render(before), render(after)
    auditor = Auditor()
    auditor.load(1, records(old, 1))

    assert auditor.apply(2, list(reversed(changes(old, new, 2)))) == []


def accounts_only(values: Values) -> set[str]:
    return {key for key in values if key.startswith(".ledger/") or "/quotausages/" in key}


def accounts(values: Values) -> set[str]:
    """The keys that hold a sum or a number of others."""
    secret = {key for key, (_, header) in values.items() if "/quotas/" in key and header.charge}
    return accounts_only(values) | {key for key in secret if not key.startswith(".ledger/")}


def charged(values: Values, key: str) -> tuple[object, object]:
    _, header = values.get(key, (b"", Header()))
    return (dict(header.charge or {}), header.count)


def spoil(value: tuple[bytes, Header], how: str) -> tuple[bytes, Header] | None:
    body, header = value
    if how == "metric" and header.charge:
        metric = sorted(header.charge)[0]
        charge = dict(header.charge) | {metric: str(int(header.charge[metric]) + 1)}
        return body, replace(header, charge=charge)
    if how == "count" and header.count:
        return body, replace(header, count=header.count + 1)
    if how == "shown" and b'"used":{"' in body:
        start = body.index(b'":"', body.index(b'"used":{"')) + 3
        return body[:start] + b"7" + body[start:], header
    return None


def is_in_use(world: World, key: str) -> bool:
    _, resource, namespace, name = key.split("/")
    if resource == "quotas":
        return any(name in names for names in world.bindings.values())
    return any((ns, b) == (namespace, name) for (ns, _), (b, _) in world.shoots.items())
