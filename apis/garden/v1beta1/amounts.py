"""Which amounts of a metric somebody can mean, and how people are shown them.

What is stored and what the API answers is canonical; `readable` is for columns and messages.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from apis.garden.v1beta1.metrics import format_of, is_whole
from apis.meta import fields
from apis.meta.fields import FieldError
from apis.meta.quantity import NANOS, nanos_of, text_of

PLAIN_BELOW: Final = 10**6
"""Counted amounts below it are shown without a suffix: 3000, not 3k."""

FEWEST_BYTES: Final = 2**20
"""Sizes below it are doubted: no machine and no volume is that small, a forgotten `Gi` is."""

_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMALS = 3


def readable(metric: str, text: str) -> str:
    """An amount as people read it: `3000` for 3k, `12.1Gi` for 12992276070400m, `~6.985Gi` where
    three decimals do not tell it exactly. Other texts, and what is no quantity, as they are."""
    if _is_size(metric):
        return _readable_size(text) if text[-1:] in "0123456789mun" else text
    if text.isdigit():
        return text
    try:
        nanos = nanos_of(text)
    except ValueError:
        return text
    whole, rest = divmod(nanos, NANOS)
    return text if rest or abs(whole) >= PLAIN_BELOW else str(whole)


def shown_amount(metric: str, nanos: int) -> str:
    """As `readable`; counted amounts stay canonical, as quotas word their refusals."""
    text = text_of(nanos, format_of(metric))
    return readable(metric, text) if _is_size(metric) else text


def amount_errors(
    path: str, metrics: Mapping[str, Any], before: Mapping[str, Any]
) -> Iterator[FieldError]:
    """Amounts that nothing can have: a fraction of what is counted, or of a single byte.

    An amount that was stored (`before`) stays.
    """
    for name, value in metrics.items():
        nanos = _nanos(value)
        if nanos is None or before.get(name) == value:
            continue
        if is_whole(name) and nanos % NANOS:
            yield fields.invalid(f"{path}[{name}]", value, "must be an integer")
        elif _is_size(name):
            yield from size_errors(f"{path}[{name}]", value)


def amount_warnings(
    path: str, metrics: Mapping[str, Any], before: Mapping[str, Any]
) -> Iterator[str]:
    for name, value in metrics.items():
        if _is_size(name) and before.get(name) != value:
            yield from size_warnings(f"{path}[{name}]", value)


def size_errors(path: str, value: Any) -> Iterator[FieldError]:
    """Sizes may be fractions (12.1Gi is 12992276070.4 bytes), but not of one byte (200m)."""
    nanos = _nanos(value)
    if nanos is not None and 0 < nanos < NANOS:
        detail = "must be 0 or at least one byte: m is the suffix of thousandths"
        yield fields.invalid(path, value, detail)


def size_warnings(path: str, value: Any) -> Iterator[str]:
    nanos = _nanos(value)
    if nanos is not None and NANOS <= nanos < FEWEST_BYTES * NANOS:
        yield f"{path}: {value} is less than 1Mi: is a suffix such as Gi missing?"


def _is_size(metric: str) -> bool:
    return format_of(metric) == "BinarySI"


def _nanos(value: Any) -> int | None:
    if type(value) is not str:
        return None
    try:
        return nanos_of(value)
    except ValueError:
        return None


def _readable_size(text: str) -> str:
    try:
        nanos = nanos_of(text)
    except ValueError:
        return text
    step, unit = 0, FEWEST_BYTES // 1024 * NANOS
    if abs(nanos) < unit * 1024:
        return text
    while step + 1 < len(_BINARY) and abs(nanos) >= unit * 1024:
        step, unit = step + 1, unit * 1024
    scaled, rest = divmod(nanos * 10**_DECIMALS, unit)
    whole, decimals = divmod(scaled, 10**_DECIMALS)
    digits = f"{whole}.{decimals:0{_DECIMALS}d}".rstrip("0").rstrip(".")
    return f"{'~' if rest else ''}{digits}{_BINARY[step]}"
