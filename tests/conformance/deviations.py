"""Where this server answers otherwise than kube-apiserver did, and means to.

The replay fails on every other difference, and on an entry here that is none.
"""

from dataclasses import dataclass
from typing import Final

_COLUMNS: Final = "columns worth reading, described by the schema, not those of the recorded CRD"
_CANONICAL: Final = "a number is accepted as a quantity and stored as its canonical text"
_SPEC_STAYS: Final = "a quota keeps its spec: the scope is immutable, and accounting reads it"
_NO_500: Final = "a client's mistake is a 400 or 422, not a 500: docs/decisions/0013"
_FOLLOWS: Final = "the spec is still there, since merge-patch[7] was refused"


@dataclass(frozen=True, slots=True)
class Deviation:
    scenario: str
    index: int
    reason: str


DEVIATIONS: Final = (
    Deviation("apply-errors", 6, _NO_500),
    Deviation("create-bad-bodies", 10, _CANONICAL),
    Deviation("create-bad-bodies", 11, _NO_500),
    Deviation("list-empty", 1, _COLUMNS),
    Deviation("merge-patch", 7, _SPEC_STAYS),
    Deviation("merge-patch", 8, _FOLLOWS),
    Deviation("merge-patch", 11, _FOLLOWS),
    Deviation("table", 1, _COLUMNS),
    Deviation("table", 2, _COLUMNS),
    Deviation("table", 3, _COLUMNS),
    Deviation("update", 7, _NO_500),
    Deviation("watch-too-old", 2, _NO_500),
)
