"""Every option of every verb with every kind of value, and what is to become of it.

The verdicts are those of kube-apiserver 1.36 for custom resources, but for those under UNREADABLE and
for a version that is no number (docs/decisions/0013).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

OK: Final = 0
"""Not refused for this option's sake."""

_NUMBERS: Final[Mapping[str, int]] = {
    "1": OK,
    "-1": OK,
    "+1": OK,
    "007": OK,
    "9223372036854775807": OK,
    "": 400,
    "abc": 400,
    "1.5": 400,
    "1e3": 400,
    "0x1": 400,
    " 1": 400,
    "1_0": 400,
    "true": 400,
    "\u0661": 400,
    "9223372036854775808": 400,
    "-9223372036854775809": 400,
    "9" * 400: 400,
}
_TRUTHS: Final[Mapping[str, int]] = dict.fromkeys(("true", "0", "", "abc", "9" * 30), OK)
_VERSIONS: Final[Mapping[str, int]] = {
    "": OK,
    "0": OK,
    "abc": 400,
    "-1": 400,
    "1.5": 400,
    " 1": 400,
    "18446744073709551616": 400,
    "9" * 400: 400,
}
_DRY_RUNS: Final[Mapping[str, int]] = {
    "All": OK,
    **dict.fromkeys(("", "all", "All ", "true", "None", "All,All"), 422),
}
_MANAGERS: Final[Mapping[str, int]] = {
    "": OK,
    "me": OK,
    "x" * 128: OK,
    "x" * 129: 422,
    "\u00df" * 65: 422,
    "a\x01": 422,
    "a\u00a0b": 422,
}
_VALIDATIONS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("", "Strict", "Warn", "Ignore"), OK),
    **dict.fromkeys(("strict", "x", "1", "Strict "), 422),
}
_LABELS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("", "a=b", "a in (b,c)", "!a", "a", "a=", "a>1"), OK),
    **dict.fromkeys(("((", "a=b c", "=b", "a in b", "a>x", "a/b/c=d", "a=%", "-=1", ",,"), 400),
}
_CONTINUES: Final[Mapping[str, int]] = {"": OK, "x": 400, "e30": 400, "\u00df": 400}
_SELECTORS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("", "metadata.name=x", "metadata.name!=x"), OK),
    **dict.fromkeys(("metadata.name", "a=b", "metadata.uid=x", "metadata.name=\\x", "=x"), 400),
}
_MATCHES: Final[Mapping[str, int]] = {
    "": OK,
    **dict.fromkeys(("Exact", "NotOlderThan", "x", "exact"), 422),  # without a version
}
_TIMEOUTS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("", "0", "10s", "1m30s", "-5s"), OK),
    **dict.fromkeys(("abc", "5", "1x", "s", "9" * 30 + "s"), 400),
}
_POLICIES: Final[Mapping[str, int]] = {
    **dict.fromkeys(("Foreground", "Background", "Orphan"), OK),
    **dict.fromkeys(("", "x", "foreground", "nil"), 422),
}

_WRITES: Final = {
    "dryRun": _DRY_RUNS,
    "fieldManager": _MANAGERS,
    "fieldValidation": _VALIDATIONS,
    "timeout": _TIMEOUTS,
    "pretty": _TRUTHS,
}
_LISTS: Final = {
    "limit": _NUMBERS,
    "timeoutSeconds": _NUMBERS,
    "labelSelector": _LABELS,
    "fieldSelector": _SELECTORS,
    "resourceVersionMatch": _MATCHES,
    "allowWatchBookmarks": _TRUTHS,
    "pretty": _TRUTHS,
}
_DELETES: Final = {
    "dryRun": _DRY_RUNS,
    "gracePeriodSeconds": _NUMBERS,
    "propagationPolicy": _POLICIES,
    "orphanDependents": _TRUTHS,
    "timeout": _TIMEOUTS,
    "pretty": _TRUTHS,
}

OPTIONS: Final[Mapping[str, Mapping[str, Mapping[str, int]]]] = {
    "get": {"resourceVersion": _VERSIONS, "timeout": _TIMEOUTS, "pretty": _TRUTHS},
    "list": {
        **_LISTS,
        "resourceVersion": _VERSIONS,
        "continue": _CONTINUES,
        "timeout": _TIMEOUTS,
        "sendInitialEvents": dict.fromkeys(_TRUTHS, 422),
    },
    "watch": {**_LISTS, "resourceVersion": _VERSIONS},
    "create": _WRITES,
    "update": _WRITES,
    "patch": {**_WRITES, "force": dict.fromkeys(_TRUTHS, 422)},
    "apply": {
        **_WRITES,
        "fieldManager": {**_MANAGERS, "": 422},
        "force": _TRUTHS,
    },
    "delete": _DELETES,
    "deletecollection": {
        **_LISTS,
        **_DELETES,
        "resourceVersion": _VERSIONS,
        "continue": _CONTINUES,
        "sendInitialEvents": dict.fromkeys(_TRUTHS, 422),
    },
}
"""Verb -> option -> value -> the status of its refusal."""

UNREADABLE: Final = ("%", "%zz", "%ff", "1;2")
"""Values, as they are sent, of any option: 400. Go leaves a pair that it cannot read out, and does
without it; here a selector that was left out would delete what it was to spare."""


@dataclass(frozen=True, slots=True)
class Given:
    """An option of a verb with a value, or with two of which the first counts; escaped."""

    verb: str
    name: str
    text: str
    refusal: int

    def __str__(self) -> str:
        return f"{self.verb} {self.text[:60]}"


def every_option() -> Iterator[Given]:
    """Each value alone, and with one behind it that would be refused."""
    for verb, options in OPTIONS.items():
        for name, values in options.items():
            worst = max(values, key=lambda value: values[value])
            for value, refusal in values.items():
                text = f"{name}={quote(value)}"
                yield Given(verb, name, text, refusal)
                # The first of them counts, except in a list of values.
                repeated = max(refusal, values[worst]) if name == "dryRun" else refusal
                yield Given(verb, name, f"{text}&{name}={quote(worst)}", repeated)
            for value in UNREADABLE:
                yield Given(verb, name, f"{name}={value}", 400)
