"""What decoding answers, and the bounds that hold for every format. Use it through `codec`."""

from dataclasses import dataclass, field
from typing import Any

MAX_DEPTH = 230
"""Levels of nesting that are accepted. orjson encodes 254; the rest is room for what an object
is wrapped in (a list, a table's row, a watch event)."""

MAX_REPORTED_DUPLICATES = 100
"""Paths of duplicate fields that are reported; a body could hold a hundred thousand."""

INT_MIN, INT_MAX = -(2**63), 2**64 - 1
"""Integers that survive being stored: what does not fit would silently become a float."""


class DecodeError(ValueError):
    """Bytes that are not one well-formed document. The text is meant for the client."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """`duplicates` are the paths of fields that came more than once (`metadata.name`,
    `spec.limits[0].type`); the last one counts. `size`: bytes of the value as JSON, some more or
    less; 0 where nobody looked."""

    value: Any
    duplicates: tuple[str, ...] = ()
    size: int = field(default=0, compare=False)


def too_deep() -> DecodeError:
    return DecodeError(f"exceeded max depth of {MAX_DEPTH}")


def out_of_range(digits: str) -> DecodeError:
    shown = digits if len(digits) <= 40 else f"{digits[:40]}..."
    return DecodeError(f"number {shown} is out of the range of 64 bits")


def yaml_failure(problem: str) -> DecodeError:
    return DecodeError(f"error converting YAML to JSON: yaml: {problem}")
