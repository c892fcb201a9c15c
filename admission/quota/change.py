"""One intended write, as the books see it; one module per kind of write implements it."""

from collections.abc import Mapping
from typing import Protocol

from admission.quota.books import Books
from admission.quota.ledger import Needs
from apis.meta.transaction import Snapshot


class Change(Protocol):
    """One intended write, as the books see it. Pure: no I/O, and evaluated as often as need be."""

    key: str
    size_bytes: int

    def needs(self, known: Mapping[str, Snapshot]) -> Needs:
        """Which keys the decision rests on, as far as `known` tells."""
        ...

    def apply(self, books: Books, *, fold: bool) -> None:
        """Judge the change against the books and, if `fold`, enter it.

        Raises StatusError where it is refused; the books are then as they were.
        """
        ...
