"""Label and field selectors: what they accept, how they read back, what they match.

Grammar, canonical text and error messages are apimachinery's. A parsed selector is a closure
over plain dictionary look-ups: it is applied to every object of a list and every event of a
watch, and parsed once.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn

from apis.meta import fields, names

Matcher = Callable[[Mapping[str, str]], bool]


def _everything(_values: Mapping[str, str]) -> bool:
    return True


def _all_of(tests: list[Matcher]) -> Matcher:
    if len(tests) < 2:
        return tests[0] if tests else _everything

    def matches(values: Mapping[str, str]) -> bool:
        for test in tests:  # noqa: SIM110 - all() with a generator takes twice the time
            if not test(values):
                return False
        return True

    return matches


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """`matches(labels)`; `str()` is the canonical text."""

    text: str
    empty: bool
    matches: Matcher = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> "LabelSelector":
        """Raises ValueError."""
        requirements = sorted(_Parser(text).requirements(), key=lambda each: each.key)
        canonical = ",".join(str(each) for each in requirements)
        return cls(canonical, not requirements, _all_of([each.matcher() for each in requirements]))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class _Requirement:
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


_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")


def _is_int64(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text)) and -(2**63) <= int(text) < 2**63


def _comparison(key: str, operator: str, bound: int) -> Matcher:
    is_greater = operator == ">"

    def matches(labels: Mapping[str, str]) -> bool:
        text = labels.get(key)
        if text is None or not _is_int64(text):
            return False
        return int(text) > bound if is_greater else int(text) < bound

    return matches


_WORD = re.compile(r"[ \t\r\n]*(==|!=|[=!(),><]|[^ \t\r\n=!(),><]+)")
_SYMBOLS: Final = frozenset(("==", "!=", "=", "!", "(", ")", ",", ">", "<"))
_OPERATORS: Final = ("in", "notin", "=", "==", "!=", "gt", "lt")
_BINARY: Final = frozenset(("in", "notin", "=", "==", "!=", ">", "<"))
_END: Final = ""


class _Parser:
    """Recursive descent over words; the empty word ends them."""

    def __init__(self, text: str) -> None:
        self._words = [match[1] for match in _WORD.finditer(text)]
        self._words.append(_END)
        self._at = 0

    def _peek(self) -> str:
        return self._words[self._at]

    def _next(self) -> str:
        word = self._words[self._at]
        self._at = min(self._at + 1, len(self._words) - 1)
        return word

    def requirements(self) -> list[_Requirement]:
        found: list[_Requirement] = []
        while (word := self._peek()) != _END:
            if word in _SYMBOLS and word != "!":
                raise ValueError(f"found '{word}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except ValueError as e:
                raise ValueError(f"unable to parse requirement: {e}") from e
            self._separator()
        return found

    def _separator(self) -> None:
        word = self._next()
        if word not in (_END, ","):
            raise ValueError(f"found '{word}', expected: ',' or 'end of string'")
        following = self._peek()
        if word == "," and following != "!" and not _is_identifier(following):
            raise ValueError(f"found '{following}', expected: identifier after ','")

    def _requirement(self) -> _Requirement:
        word = self._next()
        negated = word == "!"
        key = self._next() if negated else word
        if not _is_identifier(key):
            _unexpected(key, "identifier")
        if complaints := names.label_key(key):
            raise ValueError(f"<nil>: {fields.invalid('', key, '; '.join(complaints)).message}")
        if negated:
            return _Requirement(key, "!")
        if self._peek() in (_END, ","):
            return _Requirement(key, "exists")
        operator = self._next()
        if operator not in _BINARY:
            _unexpected(operator, ", ".join(_OPERATORS))
        values = self._values() if operator in ("in", "notin") else {self._exact_value()}
        return _checked(_Requirement(key, operator, tuple(sorted(values))))

    def _exact_value(self) -> str:
        if self._peek() in (_END, ","):
            return ""
        word = self._next()
        if not _is_identifier(word):
            _unexpected(word, "identifier")
        return word

    def _values(self) -> set[str]:
        word = self._next()
        if word != "(":
            raise ValueError(f"found '{word}' expected: '('")
        values: set[str] = set()
        previous = ","
        while (word := self._next()) != ")":
            if word == ",":
                if previous == ",":
                    values.add("")
            elif not _is_identifier(word):
                _unexpected(word, _expected_in_list(previous, bool(values)))
            elif previous != ",":
                _unexpected(word, "',' or ')'")
            else:
                values.add(word)
            previous = word
        if previous == ",":
            values.add("")
        return values


def _expected_in_list(previous: str, any_value: bool) -> str:
    if previous != ",":
        return "',' or ')'"
    return "',', or identifier" if any_value else "',', ')' or identifier"


def _is_identifier(word: str) -> bool:
    return word != _END and word not in _SYMBOLS


def _unexpected(word: str, expected: str) -> NoReturn:
    raise ValueError(f"found '{word}', expected: {expected}")


def _checked(requirement: _Requirement) -> _Requirement:
    faults: list[fields.FieldError] = []
    if requirement.operator in (">", "<") and not _is_int64(requirement.values[0]):
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        faults.append(fields.invalid("values[0]", requirement.values[0], detail))
    for i, value in enumerate(requirement.values):
        if complaints := names.label_value(value):
            path = f"values[{i}][{requirement.key}]"
            faults.append(fields.invalid(path, value, "; ".join(complaints)))
    if len(faults) == 1:
        raise ValueError(str(faults[0]))
    if faults:
        raise ValueError(f"[{', '.join(str(fault) for fault in faults)}]")
    return requirement


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """`matches(fields)`, where an absent field is the empty text; `str()` is canonical."""

    text: str
    empty: bool
    matches: Matcher = field(compare=False, repr=False)
    _exact: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, text: str, supported: Collection[str]) -> "FieldSelector":
        """Raises ValueError, also for fields other than the `supported`."""
        terms = [_parse_term(text, part) for part in sorted(_split_terms(text)) if part]
        for name, _, _ in terms:
            if name not in supported:
                raise ValueError(f"field label not supported: {name}")
        canonical = ",".join(f"{name}{operator}{_escape(value)}" for name, operator, value in terms)
        exact: dict[str, str] = {}
        for name, operator, value in terms:
            if operator == "=":
                exact.setdefault(name, value)
        return cls(canonical, not terms, _all_of([_field_test(*term) for term in terms]), exact)

    def exact(self, name: str) -> str | None:
        """The value that `name` must have, where the selector requires one."""
        return self._exact.get(name)

    def __str__(self) -> str:
        return self.text


_TERMS = re.compile(r"((?:[^\\,]|\\.|\\\Z)*)(?:,|\Z)", re.DOTALL)
_OPERATOR = re.compile("!=|==|=")
_UNESCAPED = re.compile(r"\\(.?)|([,=])", re.DOTALL)


def _split_terms(text: str) -> list[str]:
    return [match[1] for match in _TERMS.finditer(text)]


def _parse_term(text: str, term: str) -> tuple[str, str, str]:
    match = _OPERATOR.search(term)
    if match is None:
        raise ValueError(f"invalid selector: '{text}'; can't understand '{term}'")
    operator = "!=" if match[0] == "!=" else "="
    value = _UNESCAPED.sub(_unescape, term[match.end() :])
    return term[: match.start()], operator, value


def _unescape(match: re.Match[str]) -> str:
    escaped, bare = match.groups()
    if bare:
        code = ord(bare)
        raise ValueError(f"invalid field selector: unescaped character in value: {code}")
    if escaped not in ("\\", ",", "="):
        raise ValueError(f"invalid field selector: invalid escape sequence: {match[0]}")
    return str(escaped)


def _escape(value: str) -> str:
    return re.sub(r"([\\,=])", r"\\\1", value)


def _field_test(name: str, operator: str, value: str) -> Matcher:
    if operator == "=":
        return lambda values: values.get(name, "") == value
    return lambda values: values.get(name, "") != value
