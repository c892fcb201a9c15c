"""`@valueclass`: a frozen dataclass to the type checker, one that is cheap to make to Python.

`@dataclass(frozen=True)` sets every field through `object.__setattr__`: a value of five fields takes
0.77 µs to make, a plain one 0.20 µs, and one create makes some sixty. Who assigns to a field of a
value is stopped by mypy, which checks all of the project. Values that are made once, or for a
configuration, stay frozen dataclasses.
"""

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def valueclass(cls: type[T]) -> type[T]:
    """Slots; equal and hashed by its fields."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
