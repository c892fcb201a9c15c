"""What label selectors are made of: one requirement, and many of them as one test."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

Matcher = Callable[[Mapping[str, str]], bool]


def _everything(_values: Mapping[str, str]) -> bool:
    return True


def all_of(tests: list[Matcher]) -> Matcher:
    if len(tests) < 2:
        return tests[0] if tests else _everything

    def matches(values: Mapping[str, str]) -> bool:
        for test in tests:  # noqa: SIM110 - all() with a generator takes twice the time
            if not test(values):
                return False
        return True

    return matches


@dataclass(frozen=True, slots=True)
class Requirement:
    key: str
    operator: str
    values: tuple[str, ...] = ()  # sorted

    def __str__(self) -> str:
        if self.operator in ("exists", "!"):
            return f"{'!' if self.operator == '!' else ''}{self.key}"
        values = ",".join(self.values)
        if self.operator in ("in", "notin"):
            return f"{self.key} {self.operator} ({values})"
        return f"{self.key}{self.operator}{values}"

    @property
    def needs_label(self) -> bool:
        return self.operator not in ("!", "!=", "notin")

    def matcher(self) -> Matcher:
        key = self.key
        if self.operator == "exists":
            return lambda labels: key in labels
        if self.operator == "!":
            return lambda labels: key not in labels
        if self.operator in (">", "<"):
            return _comparison(key, self.operator, int(self.values[0]))
        negative = self.operator in ("!=", "notin")
        if len(self.values) == 1:
            (value,) = self.values
            if negative:
                return lambda labels: labels.get(key) != value
            return lambda labels: labels.get(key) == value
        values = frozenset(self.values)
        if negative:
            return lambda labels: labels.get(key) not in values
        return lambda labels: labels.get(key) in values


_FEW: Final = 8
"""Requirements that are quicker asked one by one."""


def matcher(requirements: Sequence[Requirement]) -> Matcher:
    """All of them. Many are asked by key, of those labels that an object has, or the other way
    round where those are more: a selector of thousands costs no more than its object's labels."""
    if len(requirements) <= _FEW:
        return all_of([each.matcher() for each in requirements])
    needed = frozenset(each.key for each in requirements if each.needs_label)
    tests = {
        key: _compact(_condensed(key, group))
        for key, group in groupby(requirements, key=lambda each: each.key)
    }

    def matches(labels: Mapping[str, str]) -> bool:
        if len(labels) < len(needed) or not labels.keys() >= needed:
            return False
        # What is left forbids something, and an object cannot break that with a label it has not.
        if len(labels) <= len(tests):
            asked = [(key, tests[key]) for key in labels if key in tests]
        else:
            asked = [(key, test) for key, test in tests.items() if key in labels]
        for key, test in asked:
            if isinstance(test, tuple):
                if (labels[key] in test[1:]) is not test[0]:
                    return False
            elif not test(labels):
                return False
        return True

    return matches


_Compact = tuple[bool | str, ...] | Matcher
"""A test of a label that is there: whether its value must be one of those that follow, or must not."""


_ABSENT: Final = (True,)
"""Among no values: a label that is there never is."""
_PRESENT: Final = (False,)


def _compact(requirements: Sequence[Requirement]) -> _Compact:
    """Of texts alone where that is possible: thousands of closures take ten times their text, and
    the garbage collector looks at each of them."""
    if len(requirements) == 1:
        (only,) = requirements
        if only.operator in ("exists", "!"):
            return _ABSENT if only.operator == "!" else _PRESENT
        if only.operator in ("in", "notin") and len(only.values) <= _FEW:
            return (only.operator == "in", *only.values)
    return all_of([each.matcher() for each in requirements])


def _condensed(key: str, requirements: Iterable[Requirement]) -> list[Requirement]:
    """The same about one label, in no more than six requirements, of which some may contradict."""
    allowed: set[str] | None = None
    denied: set[str] = set()
    others: dict[str, Requirement] = {}
    for each in requirements:
        if each.operator in ("=", "==", "in"):
            allowed = set(each.values) if allowed is None else allowed.intersection(each.values)
        elif each.operator in ("!=", "notin"):
            denied.update(each.values)
        else:
            others[each.operator] = _stricter(others.get(each.operator), each)
    if allowed is not None:
        others["in"] = Requirement(key, "in", tuple(allowed))
    if denied:
        others["notin"] = Requirement(key, "notin", tuple(denied))
    return list(others.values())


def _stricter(one: Requirement | None, other: Requirement) -> Requirement:
    if one is None or not one.values:
        return other
    bounds = int(one.values[0]), int(other.values[0])
    bound = max(bounds) if other.operator == ">" else min(bounds)
    return Requirement(other.key, other.operator, (str(bound),))


_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")


def is_int64(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text)) and -(2**63) <= int(text) < 2**63


def _comparison(key: str, operator: str, bound: int) -> Matcher:
    is_greater = operator == ">"

    def matches(labels: Mapping[str, str]) -> bool:
        text = labels.get(key)
        if text is None or not is_int64(text):
            return False
        return int(text) > bound if is_greater else int(text) < bound

    return matches
