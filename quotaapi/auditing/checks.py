"""What must hold between the stored ledgers and the auditor's sums, after every revision."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from apis.garden.v1beta1.metrics import format_of
from apis.meta.keys import LEDGERS, binding_ledger_key, object_key, quota_references_key
from apis.meta.quantity import nanos_of, text_of
from quotaapi.auditing.accounts import Accounts, Place, Touched
from quotaapi.auditing.values import Sums, Total, Violation, canonical, sums_of, text_of_sums

NO_TOTAL = Total()


@dataclass(slots=True)
class Findings:
    """`checks`: accounts that were compared."""

    revision: int
    violations: list[Violation] = field(default_factory=list)
    checks: int = 0

    def add(self, subject: str, what: str, expected: object, found: object) -> None:
        self.violations.append(Violation(self.revision, subject, what, str(expected), str(found)))

    def compare(self, subject: str, what: str, expected: Sums, found: Sums) -> None:
        if any(expected[m] != found[m] for m in expected.keys() | found.keys()):
            self.add(subject, what, text_of_sums(expected), text_of_sums(found))


def check(accounts: Accounts, touched: Touched, findings: Findings) -> None:
    """Compare everything that the changes could have moved."""
    for key in touched.shoots & accounts.shoots.keys():
        findings.checks += 1
        if not accounts.shoots[key].total.charge:
            findings.add(key, "charge", "one", "none")
    for key in touched.bindings | _counted(touched.ledgers, "bindings"):
        _check_binding(accounts, key, findings)
    for key in touched.references | _counted(touched.ledgers, "quotas"):
        _check_references(accounts, key, findings)
    for key in touched.quotas.keys() & accounts.quotas.keys():
        _check_quota(accounts, key, findings)
    for place in touched.places:
        _check_place(accounts, place, touched.usages, findings)


def _counted(ledgers: Iterable[str], kind: str) -> set[str]:
    """The objects that hidden ledgers of a kind belong to."""
    found = set()
    for key in ledgers:
        parts = key.removeprefix(LEDGERS).split("/")
        if parts[0] == kind:
            found.add(object_key(*parts[1:]) if len(parts) == 4 else _quota_key(*parts[1:]))
    return found


def _quota_key(namespace: str, name: str) -> str:
    return object_key("quotas", namespace, name)


def _check_binding(accounts: Accounts, key: str, findings: Findings) -> None:
    findings.checks += 1
    _, resource, namespace, name = key.split("/")
    ledger = binding_ledger_key(resource, namespace, name)
    expected = accounts.of_binding.get(key, NO_TOTAL)
    found = accounts.ledgers.get(ledger, NO_TOTAL)
    if found.count != expected.count:
        findings.add(ledger, "number of shoots", expected.count, found.count)
    findings.compare(ledger, "charge", expected.charge, found.charge)
    if expected.count and key not in accounts.bindings:
        findings.add(key, "binding", f"to exist for {expected.count} shoots", "no such binding")


def _check_references(accounts: Accounts, key: str, findings: Findings) -> None:
    findings.checks += 1
    _, _, namespace, name = key.split("/")
    ledger = quota_references_key(namespace, name)
    expected = accounts.references[key]
    found = accounts.ledgers.get(ledger, NO_TOTAL).count
    if found != expected:
        findings.add(ledger, "number of bindings", expected, found)
    if expected and key not in accounts.quotas:
        findings.add(key, "quota", f"to exist for {expected} bindings", "no such quota")


def _check_quota(accounts: Accounts, key: str, findings: Findings) -> None:
    quota = accounts.quotas[key]
    if not quota.secret:
        return
    findings.checks += 1
    expected = accounts.of_quota[key].charge
    findings.compare(key, "charge", expected, quota.charge)
    _check_shown(key, expected, quota.used, findings)
    if quota.used.keys() != quota.hard.keys():
        findings.add(key, "metrics of status.used", sorted(quota.hard), sorted(quota.used))
    findings.compare(key, "status.hard", sums_of(quota.hard), sums_of(quota.shown_hard))


def _check_place(accounts: Accounts, place: Place, written: set[str], findings: Findings) -> None:
    """A namespace's QuotaUsage of a quota: there while it has shoots, and exact.

    Which metrics it shows follows the quota at the QuotaUsage's next write: a quota's limits may
    change while very many namespaces use it.
    """
    findings.checks += 1
    quota, namespace = place
    expected = accounts.of_place[place]
    keys = accounts.usages_of[place]
    if len(keys) != bool(expected.count):
        wanted = "one" if expected.count else "none"
        found = ", ".join(sorted(keys)) or "none"
        findings.add(f"{quota} in {namespace}", "QuotaUsage", wanted, found)
    limits = accounts.quotas.get(quota)
    for key in keys:
        usage = accounts.usages[key]
        findings.compare(key, "charge", expected.charge, usage.charge)
        _check_shown(key, expected.charge, usage.used, findings)
        if limits is None or key not in written:
            continue
        if usage.used.keys() != limits.hard.keys():
            findings.add(key, "metrics of status.used", sorted(limits.hard), sorted(usage.used))
        hard = {} if limits.secret else limits.hard
        findings.compare(key, "status.hard", sums_of(hard), sums_of(usage.shown_hard))


def _check_shown(key: str, expected: Sums, shown: Mapping[str, str], findings: Findings) -> None:
    wanted = {name: expected[canonical(name)] for name in shown}
    found = {name: nanos_of(quantity) for name, quantity in shown.items()}
    if wanted != found:
        findings.add(key, "status.used", text_of_sums(wanted), text_of_sums(found))


def check_growth(accounts: Accounts, touched: Touched, findings: Findings) -> None:
    """No usage grew to more than its limit, but for new prices: those are charged whatever it is.

    What else grew in the same revision must have fitted: before the prices rose, after they fell.
    """
    for key, before in touched.quotas.items():
        quota = accounts.quotas.get(key)
        if quota is not None and quota.secret:
            grown = _Grown(before, accounts.of_quota[key].charge, _repriced(touched, key))
            _check_grown(key, quota.hard, grown, findings)
    for (key, namespace), before in touched.places.items():
        quota = accounts.quotas.get(key)
        if quota is not None and not quota.secret:
            after = accounts.of_place[key, namespace].charge
            grown = _Grown(before, after, _repriced(touched, (key, namespace)))
            _check_grown(f"{key} in {namespace}", quota.hard, grown, findings)


@dataclass(frozen=True, slots=True)
class _Grown:
    """One account's sums around a revision; `repriced` is the part of the change that prices made."""

    before: Sums
    after: Sums
    repriced: Sums


def _repriced(touched: Touched, account: str | Place) -> Sums:
    return touched.repriced.get(account, NO_TOTAL.charge)


def _check_grown(subject: str, hard: Mapping[str, str], grown: _Grown, findings: Findings) -> None:
    findings.checks += 1
    for metric, limit in sums_of(hard).items():
        prices = grown.repriced[metric]
        before = grown.before[metric] + min(prices, 0)
        after = grown.after[metric] - max(prices, 0)
        if after > limit and after > before:
            form = format_of(metric)
            change = f"{text_of(before, form)} to {text_of(after, form)}"
            findings.add(subject, f"growth of {metric}", f"at most {text_of(limit, form)}", change)
