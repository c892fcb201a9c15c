"""What a write of an unmetered kind does to the books: nothing. It is stored as it is."""

from collections.abc import Mapping

from admission.interface import Intent
from admission.quota.books import Books
from admission.quota.ledger import NOTHING, Needs
from apis.meta.transaction import NO_HEADER, Snapshot, encode_body


class PlainChange:
    """A write of a profile, a limit range, or whatever else no quota counts."""

    def __init__(self, intent: Intent) -> None:
        self.key = intent.key
        self._header = intent.old.header if intent.old is not None else NO_HEADER
        self._body = encode_body(intent.obj) if intent.obj is not None else None
        self.size_bytes = len(self._body or b"")

    def needs(self, known: Mapping[str, Snapshot]) -> Needs:
        del known
        return NOTHING

    def apply(self, books: Books, *, fold: bool) -> None:
        books.look(self.key)
        if not fold:
            return
        if self._body is None:
            books.remove(self.key)
        else:
            books.put(self.key, self._body, self._header)
