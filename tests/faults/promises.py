"""What clients were told, and what may therefore exist. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.harness.api import Answer, Object

LABEL = "faults/token"
"""Every create carries a token of its own here, so that an object tells which request made it."""

Outcome = Answer | Exception
"""An exception: the connection ended without an answer."""

_NOT_DONE = frozenset({400, 403, 404, 409, 413, 422, 429, 503, 507})
"""Answers by which the server promises that nothing was stored."""


def is_unknown(outcome: Outcome) -> bool:
    """504, or no answer at all: the request may have been carried out, or be so later."""
    return not isinstance(outcome, Answer) or outcome.status == 504


@dataclass(slots=True)
class Expected:
    """One object: `sizes` are the states that it may be in, None for absent."""

    token: str
    sizes: set[int | None]
    settled: bool = True
    """Whether its state is known. An object whose state is not is left alone from then on."""


@dataclass(slots=True)
class Promises:
    """Collects what clients were told; `violations` is what can never be right."""

    objects: dict[str, Expected] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    conflicts: bool = False
    """Whether a write may be told that its object has just changed, though nobody else writes it:
    only while a backup is restored, when the object may be another than a moment ago."""

    def created(self, name: str, token: str, size: int, outcome: Outcome) -> bool:
        """Whether it certainly exists now."""
        self._count("create", outcome)
        if is_unknown(outcome):
            self.objects[name] = Expected(token, {size, None}, settled=False)
        elif self._is(outcome, 201):
            self.objects[name] = Expected(token, {size})
            return True
        else:
            self.objects[name] = Expected(token, {None})
            # Names are used once: nobody else can have one.
            self._check_refusal("create", name, outcome, never={404, 409})
        return False

    def resized(self, name: str, size: int, outcome: Outcome) -> None:
        self._count("update", outcome)
        expected = self.objects[name]
        if is_unknown(outcome):
            expected.sizes.add(size)
            expected.settled = False
        elif self._is(outcome, 200):
            expected.sizes = {size}
        else:
            self._check_refusal("update", name, outcome, never={404, *self._conflict})

    def deleted(self, name: str, outcome: Outcome) -> None:
        self._count("delete", outcome)
        expected = self.objects[name]
        if is_unknown(outcome):
            expected.sizes.add(None)
            expected.settled = False
        elif self._is(outcome, 200):
            expected.sizes = {None}
        else:
            self._check_refusal("delete", name, outcome, never={403, 404, *self._conflict})

    def read(self, name: str, outcome: Outcome) -> None:
        """A consistent read of an object whose state is known."""
        self._count("get", outcome)
        if not isinstance(outcome, Answer):
            return
        expected = self.objects[name]
        found: int | None
        if outcome.status == 200:
            found = size_of(outcome.body)
        elif outcome.status == 404:
            found = None
        else:
            self._check_refusal("get", name, outcome, never={403, 409})
            return
        if found not in expected.sizes:
            self.violations.append(f"get {name}: expected {expected.sizes}, found {found}")

    def reconcile(self, stored: Iterable[Object]) -> list[str]:
        """Everything that is wrong between what was told and what exists."""
        found = {obj["metadata"]["name"]: obj for obj in stored}
        strangers = found.keys() - self.objects.keys()
        problems = [*self.violations, *(f"{name} was never asked for" for name in strangers)]
        for name, expected in self.objects.items():
            obj = found.get(name)
            size = size_of(obj) if obj is not None else None
            if size not in expected.sizes:
                problems.append(f"{name}: expected one of {expected.sizes}, found {size}")
            if obj is not None and obj["metadata"]["labels"][LABEL] != expected.token:
                problems.append(f"{name}: made by another request than the one that was answered")
        return problems

    def possible(self) -> list[str]:
        """The names that may exist."""
        return [name for name, expected in self.objects.items() if expected.sizes != {None}]

    @property
    def _conflict(self) -> set[int]:
        return set() if self.conflicts else {409}

    @staticmethod
    def _is(outcome: Outcome, status: int) -> bool:
        return isinstance(outcome, Answer) and outcome.status == status

    def _check_refusal(self, verb: str, name: str, outcome: Outcome, *, never: set[int]) -> None:
        assert isinstance(outcome, Answer)
        if outcome.status not in _NOT_DONE or outcome.status in never:
            self.violations.append(f"{verb} {name}: {outcome}")
        elif outcome.status in {429, 503} and not _retry_seconds(outcome.body):
            self.violations.append(f"{verb} {name}: no retryAfterSeconds: {outcome}")

    def _count(self, verb: str, outcome: Outcome) -> None:
        what = str(outcome.status) if isinstance(outcome, Answer) else "no answer"
        key = f"{verb} {what}"
        self.counts[key] = self.counts.get(key, 0) + 1

    def summary(self) -> str:
        return ", ".join(f"{what}: {count}" for what, count in sorted(self.counts.items()))


def size_of(shoot: Mapping[str, object]) -> int:
    """The most machines of its one worker group."""
    spec: Object = shoot["spec"]  # type: ignore[assignment]  # JSON
    size: int = spec["cloud"]["aws"]["workers"][0]["autoScalerMax"]
    return size


def _retry_seconds(status: Object) -> int:
    seconds: int = (status.get("details") or {}).get("retryAfterSeconds") or 0
    return seconds
