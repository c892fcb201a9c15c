"""What a write of a quota does to the books: its status follows its limits, its users keep it.

The balances of a quota do not depend on its limits: they are kept over all metrics beside the
object, and `status.used` shows those that the quota names. So limits may be added, renamed and
removed at will, and lowering one below what is used evicts nothing.
"""

from collections.abc import Mapping

from admission.interface import Intent
from admission.quota.bindings import NAMED_USERS, counted, is_terminating, named
from admission.quota.books import Books, settle_status
from admission.quota.ledger import NOTHING, Directory, Needs
from admission.quota.usage import decode, encode
from admission.quota.views import Views, quota_view, references_of
from apis.meta import errors
from apis.meta.transaction import NO_HEADER, Header, Object, Record, Snapshot, encode_body

REFRESHED_USAGES = 50
"""How many namespaces' QuotaUsages are rewritten together with a quota whose limits change, to
show the new limits. Those beyond follow at their next charge; decisions read the quota itself."""


class QuotaChange:
    """A create, an update, the marking for deletion or the removal of a quota."""

    def __init__(self, intent: Intent, views: Views, directory: Directory) -> None:
        self.key = intent.key
        self._attributes = intent.attributes
        self._obj = intent.obj
        self._old = intent.attributes.old
        self._views = views
        self._directory = directory
        self._header = intent.old.header if intent.old is not None else NO_HEADER
        self._mod_revision = intent.old.mod_revision if intent.old is not None else 0
        self._references = references_of(intent.key)
        self._ends = intent.obj is None
        self._is_marked = is_terminating(self._obj) and not is_terminating(self._old)
        self._usages = self._to_refresh()
        self.size_bytes = len(encode_body(self._obj)) if self._obj is not None else 0

    def _to_refresh(self) -> frozenset[str]:
        if self._obj is None or self._old is None:
            return frozenset()
        if self._obj["spec"].get("metrics") == self._old["spec"].get("metrics"):
            return frozenset()
        namespace, name = self._attributes.namespace, self._attributes.name
        return frozenset(self._directory.usages_of(namespace, name, REFRESHED_USAGES))

    def needs(self, known: Mapping[str, Snapshot]) -> Needs:
        del known
        if self._ends:
            return Needs(exclusive=frozenset((self._references,)))
        if self._is_marked:
            return Needs(self._usages, frozenset((self._references,)))
        return Needs(exclusive=self._usages) if self._usages else NOTHING

    def apply(self, books: Books, *, fold: bool) -> None:
        books.look(self.key)
        if self._ends or self._is_marked:
            self._refuse_if_used(books)
        if not fold:
            return
        if self._obj is None:
            books.count_ledger(self._references).touched = True
            books.remove(self.key)
            return
        self._store(books, self._obj)

    def _store(self, books: Books, obj: Object) -> None:
        view = quota_view(Record(self.key, self._mod_revision, 0, encode_body(obj)))
        header = self._header
        if view.secret:
            used = decode(header.charge)
            settle_status(obj, view, used)
            header = Header(charge=encode(used))
        books.put(self.key, encode_body(obj), header)
        for key in self._usages:
            if books.look(key) is not None:
                books.usage_ledger(key, view).touched = True

    def _refuse_if_used(self, books: Books) -> None:
        bindings = books.count_ledger(self._references).count
        if bindings:
            namespace, name = self._attributes.namespace, self._attributes.name
            users = named(self._directory.bindings_of(namespace, name, NAMED_USERS), bindings)
            raise errors.conflict(
                self._attributes.resource,
                self._attributes.name,
                f"it is used by {counted(bindings, 'binding')}: {users}; delete them or let them name another "
                "quota first",
            )
