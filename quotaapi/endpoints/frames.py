"""A watch's lines: events as JSON, encoded once per representation however many watchers there are."""

from collections.abc import Sequence
from typing import Any, Final

from apis.meta import codec
from apis.meta.resource import Resource
from apis.meta.transaction import Object, Record
from quotaapi.endpoints import shapes
from quotaapi.endpoints.negotiation import Representation, Shape
from quotaapi.endpoints.shapes import Tables
from storage.interface import Event, Predicate

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


def change(event: Event, predicate: Predicate | None) -> str:
    """ADDED, MODIFIED or DELETED as a watcher with this selector sees it; empty: not at all."""
    previous, facts = event.previous, event.facts
    was = previous is not None and (predicate is None or predicate(previous))
    is_ = facts is not None and (predicate is None or predicate(facts))
    if was:
        return MODIFIED if is_ else DELETED
    return ADDED if is_ else ""


def line(kind: str, obj: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), obj)


def error_line(status: Object) -> bytes:
    return line("ERROR", codec.encode(status))


def chunk(data: bytes) -> bytes:
    """As HTTP/1.1 frames a piece of an answer of unknown length; `data` is not empty."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class Framer:
    """Turns one watch's events into lines. `tables` is there where it is watched as Tables.

    `form`: watches of one kind and the same form have the same lines, once `shared`.
    `plain`: objects are shown as they are stored, and need not be decoded.
    """

    def __init__(
        self, resource: Resource, representation: Representation, tables: Tables | None, form: str
    ) -> None:
        self._resource = resource
        self._version = representation.version
        self.plain = representation.shape is Shape.OBJECT
        self._tables = tables
        self.form = form
        # A Table's columns come with its first event only, as from kube-apiserver.
        self._columns_due = tables is not None

    @property
    def shared(self) -> bool:
        return not self._columns_due

    def work(self, events: Sequence[Event], predicate: Predicate | None) -> int:
        """Bytes that have to be decoded for their `lines`."""
        if self.plain:
            return 0
        return sum(
            len(event.record.body)
            for event in events
            if (change(event, predicate), self.form) not in event.encoded
        )

    def lines(self, events: Sequence[Event], predicate: Predicate | None) -> bytes:
        """As a watcher with this selector is shown them."""
        changes = ((event, change(event, predicate)) for event in events)
        return b"".join([self.event(event, kind) for event, kind in changes if kind])

    def event(self, event: Event, kind: str) -> bytes:
        """`kind` comes from `change`."""
        if self._columns_due:
            return self.record(_shown(event, kind), kind)
        key = (kind, self.form)
        encoded = event.encoded.get(key)
        if encoded is None:
            encoded = event.encoded[key] = self.record(_shown(event, kind), kind)
        return encoded

    def record(self, record: Record, kind: str) -> bytes:
        if self.plain:
            return line(kind, record.json())
        if self._tables is None:
            return line(kind, codec.encode(shapes.partial(record.object(), self._version)))
        return line(kind, codec.encode(self._tables.of_one(record, columns=self._take_columns())))

    def _take_columns(self) -> bool:
        due, self._columns_due = self._columns_due, False
        return due

    def bookmark(self, resource_version: int, *, ends_initial_events: bool = False) -> bytes:
        """No object: a version from which the watch may be resumed."""
        metadata: dict[str, Any] = {"resourceVersion": str(resource_version)}
        if ends_initial_events:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        obj: Object = {
            "kind": self._resource.kind,
            "apiVersion": self._resource.api_version,
            "metadata": metadata,
        }
        if self._tables is not None:
            obj = self._tables.of((), metadata, columns=self._take_columns())
        elif not self.plain:
            obj = shapes.partial(obj, self._version)
        return line("BOOKMARK", codec.encode(obj))


def _shown(event: Event, kind: str) -> Record:
    """What an event shows of the object: for one that only left the selection, as it was in it."""
    if kind == DELETED and event.facts is not None and event.before is not None:
        record, before = event.record, event.before
        return Record(record.key, record.mod_revision, record.position, before.body, before.header)
    return event.record
