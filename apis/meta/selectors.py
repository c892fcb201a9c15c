"""Label and field selectors: what they accept, how they read back, what they match.

Grammar, canonical text and error messages are apimachinery's. A parsed selector is a closure
over plain dictionary look-ups: it is applied to every object of a list and every event of a
watch, and parsed once.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn

from apis.meta import fields, names
from apis.meta.requirements import Matcher, Requirement, all_of, is_int64, matcher


@dataclass(frozen=True, slots=True, weakref_slot=True)
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
        return cls(canonical, not requirements, matcher(requirements))

    def __str__(self) -> str:
        return self.text


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

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
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

    def _requirement(self) -> Requirement:
        word = self._next()
        negated = word == "!"
        key = self._next() if negated else word
        if not _is_identifier(key):
            _unexpected(key, "identifier")
        if complaints := names.label_key(key):
            raise ValueError(f"<nil>: {fields.invalid('', key, '; '.join(complaints)).message}")
        if negated:
            return Requirement(key, "!")
        if self._peek() in (_END, ","):
            return Requirement(key, "exists")
        operator = self._next()
        if operator not in _BINARY:
            _unexpected(operator, ", ".join(_OPERATORS))
        values = self._values() if operator in ("in", "notin") else {self._exact_value()}
        return _checked(Requirement(key, operator, tuple(sorted(values))))

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


def _checked(requirement: Requirement) -> Requirement:
    faults: list[fields.FieldError] = []
    if requirement.operator in (">", "<") and not is_int64(requirement.values[0]):
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


@dataclass(frozen=True, slots=True, weakref_slot=True)
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
        return cls(canonical, not terms, all_of(_field_tests(terms)), exact)

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


def _field_tests(terms: Iterable[tuple[str, str, str]]) -> list[Matcher]:
    """Two at most for each field that there is, however many the terms are."""
    wanted: dict[str, set[str]] = {}
    denied: dict[str, set[str]] = {}
    for name, operator, value in terms:
        (wanted if operator == "=" else denied).setdefault(name, set()).add(value)
    return [
        *(_isall_of(name, values) for name, values in wanted.items()),
        *(_is_none_of(name, frozenset(values)) for name, values in denied.items()),
    ]


def _isall_of(name: str, wanted: Collection[str]) -> Matcher:
    if len(wanted) > 1:
        return lambda _values: False
    (value,) = wanted
    return lambda values: values.get(name, "") == value


def _is_none_of(name: str, denied: Collection[str]) -> Matcher:
    return lambda values: values.get(name, "") not in denied
