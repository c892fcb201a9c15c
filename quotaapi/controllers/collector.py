"""The garbage collector of a server that has no controller-manager beside it.

It does for this group's objects what kube-controller-manager does where the group is aggregated:

* An object all of whose owners are gone is deleted; references to owners that are gone, beside
  others that are not, are taken out.
* An object that was deleted in the foreground goes when the dependents that block it are gone;
  they are deleted, on this account.
* An object that was deleted with its dependents orphaned goes when none of them refers to it.

An owner is looked up in etcd before anything is deleted on its account. Owners of kinds that this
server does not know are taken to exist: nobody here can tell.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from enum import Enum, auto
from typing import Any, Final, NoReturn

from apis.meta.errors import StatusError
from apis.meta.request import UserInfo
from apis.meta.selectors import FieldSelector, LabelSelector
from apis.meta.transaction import Object
from quotaapi.controllers.duty import Carry
from quotaapi.controllers.owners import FOREGROUND, ORPHAN, Graph, Node, Owner
from quotaapi.registry.heavy import Breath, breaths
from quotaapi.registry.options import DeleteOptions, Transform, WriteOptions
from quotaapi.registry.rest import ListQuery, Rest

_log = logging.getLogger(__name__)

USER: Final = UserInfo("system:quotaapi:garbage-collector", ("system:authenticated",))
AT_ONCE: Final = 16
"""Objects that are dealt with side by side: they share transactions."""
RETRY_SECONDS: Final = 5.0
"""After which what was refused is tried again: a quota that is in use may not be one day."""
REST_SECONDS: Final = 1.0
"""Before it begins anew where it lost its watches."""

_WAIT_SECONDS: Final = 3600.0
_BREATH: Final = Breath(2000, 8 * 1024 * 1024)
_EVERYTHING: Final = ListQuery(LabelSelector.parse(""), FieldSelector.parse("", ()))
_OPTIONS: Final = WriteOptions(field_manager="quotaapi")


class _State(Enum):
    """Of an owner."""

    SOLID = auto()
    WAITING = auto()
    GONE = auto()


class Collector:
    """A duty of the leader's: `rests`, by plural, write under its mandate."""

    def __init__(
        self,
        rests: Mapping[str, Rest],
        carry_out: Carry,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._rests = {
            plural: rest for plural, rest in rests.items() if not rest.resource.read_only
        }
        self._by_kind = {
            (rest.resource.api_version, rest.resource.kind): rest for rest in rests.values()
        }
        self._carry_out = carry_out
        self._sleep = sleep
        self._retry_seconds = retry_seconds
        self.collected = 0

    async def run(self) -> None:
        while True:
            try:
                await self._term()
            except StatusError as error:
                _log.warning("collecting garbage begins anew: %s", error)
            await self._sleep(REST_SECONDS)

    async def _term(self) -> None:
        """From a look at everything until a watch breaks. Raises StatusError."""
        graph, news = Graph(), asyncio.Event()
        since: dict[str, int] = {}
        for plural, rest in self._rests.items():
            page = await rest.list("", _EVERYTHING)
            since[plural] = page.resource_version
            for records in breaths(page.records, _BREATH):
                for record in records:
                    graph.observe(rest.resource, record)
                await asyncio.sleep(0)
        news.set()
        work = [_follow(graph, rest, since[name], news) for name, rest in self._rests.items()]
        work.append(self._work(graph, news))
        async with asyncio.TaskGroup() as tasks:
            # Failures are handed over, not raised: a group that is cancelled while one of its tasks
            # fails would raise the failure alone, and this duty would go on when it is to end.
            running = [tasks.create_task(_failure_of(each)) for each in work]
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in running:
                task.cancel()
        raise done.pop().result()

    async def _work(self, graph: Graph, news: asyncio.Event) -> NoReturn:
        refused: dict[str, None] = {}
        while True:
            try:
                async with asyncio.timeout(self._retry_seconds if refused else None):
                    await news.wait()
            except TimeoutError:
                graph.due.update(refused)
                refused.clear()
            news.clear()
            while due := graph.take(AT_ONCE):
                settled = await asyncio.gather(*(self._settle(graph, node) for node in due))
                for node, done in zip(due, settled, strict=True):
                    if not done:
                        refused[node.uid] = None

    async def _settle(self, graph: Graph, node: Node) -> bool:
        """Do what is due. False: it has to be tried again though nothing new happens."""
        try:
            if not node.terminating:
                await self._judge(graph, node)
            elif ORPHAN in node.finalizers:
                await self._orphan(graph, node)
            elif FOREGROUND in node.finalizers and not graph.blocking(node.uid):
                await self._change(node, _without_finalizer(node.uid, FOREGROUND))
        except StatusError as error:
            if error.reason == "NotFound":
                return True  # its removal is on its way to the watch
            _log.debug("%s %s/%s: %s", node.plural, node.namespace, node.name, error)
            return False
        return True

    async def _judge(self, graph: Graph, node: Node) -> None:
        states = {owner.uid: await self._state(node, owner) for owner in node.owners}
        if not states:
            return
        found = set(states.values())
        if _State.SOLID in found:
            away = {uid for uid, state in states.items() if state is not _State.SOLID}
            if away:
                await self._change(node, _without_owners(node.uid, away))
            return
        policy = "Background"
        dependents = list(graph.dependents(node.uid))
        if ORPHAN in node.finalizers:
            policy = "Orphan"
        elif FOREGROUND in node.finalizers or (_State.WAITING in found and dependents):
            policy = "Foreground"
            if any(dependent.waits for dependent in dependents):
                # A circle: each would wait for the next one.
                await self._change(node, _unblocking(node.uid))
        options = DeleteOptions(uid=node.uid, propagation=policy)
        rest = self._rests[node.plural]
        await self._carry_out(rest.delete(USER, node.namespace, node.name, options))
        self.collected += 1
        _log.info("%s %s/%s had lost its owners", node.plural, node.namespace, node.name)

    async def _state(self, node: Node, owner: Owner) -> _State:
        rest = self._by_kind.get((owner.api_version, owner.kind))
        if rest is None or (rest.resource.namespaced and not node.namespace):
            return _State.SOLID
        namespace = node.namespace if rest.resource.namespaced else ""
        try:
            record = await rest.get(namespace, owner.name)
        except StatusError as error:
            if error.reason != "NotFound":
                raise
            return _State.GONE
        metadata = record.object()["metadata"]
        if metadata["uid"] != owner.uid:
            return _State.GONE
        waits = "deletionTimestamp" in metadata and FOREGROUND in metadata.get("finalizers", ())
        return _State.WAITING if waits else _State.SOLID

    async def _orphan(self, graph: Graph, node: Node) -> None:
        for dependent in list(graph.dependents(node.uid)):
            try:
                await self._change(dependent, _without_owners(dependent.uid, {node.uid}))
            except StatusError as error:
                if error.reason != "NotFound":
                    raise
        await self._change(node, _without_finalizer(node.uid, ORPHAN))

    async def _change(self, node: Node, change: Transform) -> None:
        rest = self._rests[node.plural]
        await self._carry_out(rest.patch(USER, node.namespace, node.name, change, _OPTIONS))


async def _failure_of(work: Coroutine[Any, Any, NoReturn]) -> StatusError:
    try:
        await work
    except StatusError as error:
        return error


async def _follow(graph: Graph, rest: Rest, since: int, news: asyncio.Event) -> NoReturn:
    """Raises StatusError where the watch ends."""
    async with rest.watch("", _EVERYTHING, since) as subscription:
        while True:
            for event in await subscription.next(_WAIT_SECONDS):
                graph.observe(rest.resource, event.record, gone=event.facts is None)
            if graph.due:
                news.set()


# Changes leave another object of the same name as it is.


def _without_finalizer(uid: str, finalizer: str) -> Transform:
    def change(metadata: Object) -> None:
        left = [name for name in metadata.get("finalizers", ()) if name != finalizer]
        metadata["finalizers"] = left

    return _changing(uid, change)


def _without_owners(uid: str, away: Collection[str]) -> Transform:
    def change(metadata: Object) -> None:
        references = metadata.get("ownerReferences", ())
        metadata["ownerReferences"] = [each for each in references if each["uid"] not in away]

    return _changing(uid, change)


def _unblocking(uid: str) -> Transform:
    def change(metadata: Object) -> None:
        for reference in metadata.get("ownerReferences", ()):
            reference["blockOwnerDeletion"] = False

    return _changing(uid, change)


def _changing(uid: str, change: Callable[[Object], None]) -> Transform:
    def transform(obj: Object) -> Object:
        if obj["metadata"]["uid"] == uid:
            change(obj["metadata"])
        return obj

    return transform
