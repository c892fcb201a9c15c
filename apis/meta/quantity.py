"""Resource quantities, exact: integers of nanos (10⁻⁹), never a float.

What apimachinery rounds is rounded alike: a part below one nano counts as a whole nano, away from
zero. What it cannot hold is held here: there is no int64 to overflow, nothing saturates at 8Ei.
The bounds on length and exponent only keep absurd input from costing time; they are hundreds of
orders of magnitude above any resource.

A quantity remembers the format in which it was written, and a sum takes its left operand's.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Final, Literal, Self

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

NANOS: Final = 10**9
"""Nanos in one."""

MAX_LENGTH: Final = 256
MAX_EXPONENT: Final = 300

_DECIMAL_SUFFIXES = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

_UNITS: dict[str, tuple[int, Format]] = {
    **{suffix: (1000**i, "DecimalSI") for i, suffix in enumerate(_DECIMAL_SUFFIXES)},
    **{suffix: (NANOS * 1024**i, "BinarySI") for i, suffix in enumerate(_BINARY_SUFFIXES) if i},
}

_QUANTITY = re.compile(r"([+-]?)([0-9]*)(\.?)([0-9]*)([eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")

_BAD_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_BAD_SUFFIX = "unable to parse quantity's suffix"


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """Compared by value alone; `format` says how `str()` writes it."""

    nanos: int
    format: Format = "DecimalSI"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError with apimachinery's message."""
        nanos, form = _parse(text)
        return cls(nanos, form)

    def __str__(self) -> str:
        return text_of(self.nanos, self.format)

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos + other.nanos, self._format_with(other))

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos - other.nanos, self._format_with(other))

    def _format_with(self, other: "Quantity") -> Format:
        """A zero has no format worth keeping."""
        return self.format if self.nanos else other.format

    def __eq__(self, other: object) -> bool:
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __lt__(self, other: "Quantity") -> bool:
        return self.nanos < other.nanos

    def __le__(self, other: "Quantity") -> bool:
        return self.nanos <= other.nanos

    def __gt__(self, other: "Quantity") -> bool:
        return self.nanos > other.nanos

    def __ge__(self, other: "Quantity") -> bool:
        return self.nanos >= other.nanos


@lru_cache(maxsize=8192)
def _parse(text: str) -> tuple[int, Format]:
    if len(text) > MAX_LENGTH:
        raise ValueError(f"quantities must be no more than {MAX_LENGTH} characters")
    match = _QUANTITY.fullmatch(text)
    if match is None or not text:
        raise ValueError(_BAD_FORMAT)
    sign, whole, point, fraction, suffix = match.groups()
    if suffix and not (whole or point):
        raise ValueError(_BAD_SUFFIX)
    multiplier, form = _UNITS.get(suffix) or (0, "DecimalExponent")
    divisor: int = 10 ** len(fraction)
    if not multiplier:
        exponent = _exponent(suffix) + 9
        multiplier = 10 ** max(exponent, 0)
        divisor *= 10 ** max(-exponent, 0)
    magnitude = int(f"{whole}{fraction}" or "0") * multiplier
    if divisor > 1:
        magnitude = -(-magnitude // divisor)
    return (-magnitude if sign == "-" else magnitude), form


def _exponent(suffix: str) -> int:
    match = _EXPONENT.fullmatch(suffix)
    if match is None:
        raise ValueError(_BAD_SUFFIX)
    exponent = int(match[1])
    if abs(exponent) > MAX_EXPONENT:
        raise ValueError(f"a quantity's exponent must be between ±{MAX_EXPONENT}")
    return exponent


def nanos_of(text: str) -> int:
    """The value of a quantity's text in nanos. Raises ValueError."""
    return _parse(text)[0]


@lru_cache(maxsize=4096)  # a ledger's sums are told several times: as charge, as status, on others
def text_of(nanos: int, form: Format) -> str:
    """Canonical text: the largest suffix that leaves an integer.

    BinarySI falls back to decimal suffixes below 1024 and for what is no whole number.
    """
    if form == "BinarySI" and not -1024 * NANOS < nanos < 1024 * NANOS and nanos % NANOS == 0:
        return _scaled(nanos // NANOS, 1024, _BINARY_SUFFIXES)
    if form == "DecimalExponent":
        return _exponential(nanos)
    return _scaled(nanos, 1000, _DECIMAL_SUFFIXES) if nanos else "0"


def _scaled(number: int, base: int, suffixes: tuple[str, ...]) -> str:
    step, last = 0, len(suffixes) - 1
    while step < last and number % base == 0:
        number //= base
        step += 1
    return f"{number}{suffixes[step]}"


def _exponential(nanos: int) -> str:
    if nanos == 0:
        return "0"
    exponent = -9
    while nanos % 1000 == 0:
        nanos //= 1000
        exponent += 3
    return f"{nanos}e{exponent}" if exponent else str(nanos)


def canonical(text: str) -> str:
    """The canonical text of the same value in the same format. Raises ValueError."""
    return text_of(*_parse(text))


def coerce(value: object) -> str | None:
    """The text of what JSON holds where a quantity is expected: text or a number.

    None for everything else; whether the text parses is another question.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and isfinite(value):
        return repr(value)
    return None
