"""Who owns whom among the stored objects, as far as garbage is concerned; pure bookkeeping.

Kept are the objects that name owners and those that wait for their dependents: most do neither,
and are told by their bytes, undecoded. `due` are those that something happened to, or to an owner
or dependent of theirs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from apis.meta.resource import Resource
from apis.meta.transaction import Record

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"

_OWNED: Final = b'"ownerReferences":[{'
_TERMINATING: Final = b'"deletionTimestamp":"'
_WAITING: Final = (f'"{FOREGROUND}"'.encode(), f'"{ORPHAN}"'.encode())


@dataclass(frozen=True, slots=True)
class Owner:
    """`blocks`: the owner, deleted in the foreground, waits for this dependent."""

    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool


@dataclass(frozen=True, slots=True)
class Node:
    plural: str
    namespace: str
    name: str
    uid: str
    owners: tuple[Owner, ...]
    finalizers: tuple[str, ...]
    terminating: bool

    @property
    def waits(self) -> bool:
        """It goes when its dependents are gone."""
        return self.terminating and FOREGROUND in self.finalizers


class Graph:
    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._uids: dict[str, str] = {}
        """Of the nodes, by key."""
        self._dependents: dict[str, dict[str, None]] = {}
        """By the owner's uid, whether the owner is a node or not."""
        self.due: dict[str, None] = {}
        """uids, in the order in which their turn comes."""

    def observe(self, resource: Resource, record: Record, *, gone: bool = False) -> None:
        """An object as it is now; `gone`: as it was last."""
        if not gone and _matters(record.body):
            self._set(record.key, _node(resource, record))
            return
        uid = self._uids.pop(record.key, "")
        if uid:
            self._unset(uid)
        if gone and self._dependents:
            uid = uid or record.object()["metadata"]["uid"]
            self.due.update(self._dependents.get(uid, {}))

    def take(self, count: int) -> list[Node]:
        """The next nodes that are due, out of the queue."""
        taken: list[Node] = []
        while self.due and len(taken) < count:
            uid = next(iter(self.due))
            del self.due[uid]
            if uid in self._nodes:
                taken.append(self._nodes[uid])
        return taken

    def dependents(self, uid: str) -> Iterator[Node]:
        for dependent in self._dependents.get(uid, ()):
            yield self._nodes[dependent]

    def blocking(self, uid: str) -> list[Node]:
        """The dependents for which an owner that is deleted in the foreground waits."""
        return [
            node
            for node in self.dependents(uid)
            if any(owner.blocks for owner in node.owners if owner.uid == uid)
        ]

    def _set(self, key: str, node: Node) -> None:
        before = self._nodes.get(node.uid)
        if node == before:
            return
        if before is not None:
            self._unset(node.uid)
        self._nodes[node.uid] = node
        self._uids[key] = node.uid
        for owner in node.owners:
            self._dependents.setdefault(owner.uid, {})[node.uid] = None
        self.due[node.uid] = None
        if node.waits:
            self.due.update(self._dependents.get(node.uid, {}))

    def _unset(self, uid: str) -> None:
        """Owners that wait may have waited for this one."""
        for owner in self._nodes.pop(uid).owners:
            siblings = self._dependents.get(owner.uid, {})
            siblings.pop(uid, None)
            if not siblings:
                self._dependents.pop(owner.uid, None)
            if owner.uid in self._nodes and self._nodes[owner.uid].waits:
                self.due[owner.uid] = None


def _matters(body: bytes) -> bool:
    if _OWNED in body:
        return True
    return _TERMINATING in body and any(mark in body for mark in _WAITING)


def _node(resource: Resource, record: Record) -> Node:
    metadata = record.object()["metadata"]
    owners = tuple(
        Owner(
            reference.get("apiVersion", ""),
            reference.get("kind", ""),
            reference.get("name", ""),
            reference.get("uid", ""),
            bool(reference.get("blockOwnerDeletion")),
        )
        for reference in metadata.get("ownerReferences", ())
    )
    return Node(
        resource.plural,
        metadata.get("namespace", ""),
        metadata["name"],
        metadata["uid"],
        owners,
        tuple(metadata.get("finalizers", ())),
        "deletionTimestamp" in metadata,
    )
