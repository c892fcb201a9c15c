"""One group on its way to an outcome for each of its members: `group_commit` tells the whole story."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from apis.meta.transaction import (
    Conflict,
    OutcomeUnknown,
    Snapshot,
    TooLarge,
    TransactionError,
    Unavailable,
)
from storage.etcd import records, wire
from storage.etcd.fence import Fence
from storage.etcd.merging import Group, Waiting, compare_mark, refuse
from storage.etcd.refusals import NoSpace, Unanswered
from storage.etcd.statistics import Counters
from storage.etcd.store import EtcdStore
from storage.etcd.watch import RawRevision
from storage.interface import StorageError

_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one sending may take, and how long an outcome is looked for."""

    attempt_seconds: float
    deadline_seconds: float
    clock: Callable[[], float]


class Attempt:
    """`meanwhile` is called between two sendings, so that those who wait behind are not forgotten."""

    def __init__(
        self,
        store: EtcdStore,
        group: Group,
        *,
        identifier: bytes,
        fence: Fence,
        counters: Counters,
        patience: Patience,
        meanwhile: Callable[[], None],
    ) -> None:
        self._store = store
        self._group = group
        self._id = identifier
        self._fence = fence
        self._counters = counters
        self._patience = patience
        self._meanwhile = meanwhile
        self._known_revision = max(store.seen_revision, *group.guards.values())
        """The store was here before the first sending: whatever is applied comes after it."""
        self._give_up_at = patience.clock() + patience.deadline_seconds
        self._uncertain = False
        """Whether a sending is out whose fate is not known."""
        self._marked = store.marks.newest(group.guards)
        """The guard by whose value etcd's history is known again, and its mark."""

    async def settle(self) -> Sequence[Waiting]:
        """Give members their outcome; answers those that are to go again.

        Raises TooLarge where etcd refuses the request as such; no member has an outcome then.
        """
        try:
            answer = await self._send()
            return await self._judge(answer)
        except TooLarge:
            raise
        except NoSpace as error:
            await self._judge_full(error)
        except (TransactionError, StorageError) as error:
            self._fail(error)
        return ()

    def _fail(self, error: TransactionError | StorageError) -> None:
        if self._uncertain:
            refuse(self._group.members, OutcomeUnknown, f"etcd's answer was lost: {error}")
        else:
            refuse(self._group.members, Unavailable, str(error))

    async def _send(self) -> wire.Message:
        """The answer to the Txn, sent as often as it takes. Raises what ends the attempt."""
        mark_compares: Sequence[bytes] = ()
        if self._marked is not None:
            key, mark = self._marked
            mark_compares = compare_mark(wire.b64(self._store.full_key(key)), mark)
        body = self._group.request(
            self._id,
            fence_name=self._fence.name,
            fence_revision=self._fence.revision,
            mark_compares=mark_compares,
        )
        self._counters.group(len(self._group.members), len(self._group.written))
        pause_seconds = _FIRST_PAUSE_SECONDS
        while True:
            self._counters.transactions += 1
            try:
                return await self._store.client.call(
                    "/kv/txn", body, timeout_seconds=self._patience.attempt_seconds
                )
            except NoSpace:
                raise
            except (Unanswered, Unavailable) as error:
                self._uncertain = self._uncertain or isinstance(error, Unanswered)
                if not self._uncertain or self._patience.clock() > self._give_up_at:
                    raise
            self._meanwhile()
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 2, _LONGEST_PAUSE_SECONDS)
            self._counters.retries += 1

    async def _judge(self, answer: wire.Message) -> Sequence[Waiting]:
        """What etcd's answer means for each member. Raises like `_find_in_history`."""
        revision = self._store.note(answer)
        if answer.get("succeeded"):
            self._succeed(revision)
            return ()
        fence, *ranges = [response["response_range"] for response in answer["responses"]]
        self._fence.revision = _mod_revision(fence)
        if self._uncertain:
            applied_at = self._carries_id(ranges) or await self._find_in_history()
            if applied_at:
                self._succeed(applied_at)
                return ()
        if self._is_other_history(revision, ranges):
            self._store.on_doubt()
            raise Unavailable("etcd has another history than before: it was restored")
        return self._route(ranges)

    def _is_other_history(self, newest: int, ranges: Sequence[wire.Message]) -> bool:
        """Whether what a failed compare returned cannot follow what was known: a revision that
        went backwards, or a value that another transaction stored at the same one."""
        for (key, revision), found in zip(self._group.guards.items(), ranges, strict=True):
            modified = _mod_revision(found)
            if revision > newest or 0 < modified < revision:
                return True
            if self._marked is not None and key == self._marked[0] and modified == revision:
                value = wire.unb64(found["kvs"][0].get("value", ""))
                if records.mark_of(value) != self._marked[1]:
                    return True
        return False

    def _succeed(self, revision: int) -> None:
        self._counters.committed += len(self._group.members)
        for member, committed in self._group.committed(revision):
            for key, record in committed.records.items():
                self._store.marks.note(key, revision, records.mark(record.position, self._id))
            if not member.outcome.done():
                member.outcome.set_result(committed)

    def _route(self, ranges: Sequence[wire.Message]) -> Sequence[Waiting]:
        """A guard moved: whose? The others go again."""
        self._counters.failed_compares += 1
        moved: dict[str, Snapshot] = {}
        for (key, revision), found in zip(self._group.guards.items(), ranges, strict=True):
            if _mod_revision(found) != revision:
                moved[key] = self._store.snapshot(key, found)
        again = []
        for member in self._group.members:
            concerned = moved.keys() & member.transaction.guards.keys()
            if concerned:
                self._counters.conflicts += 1
                if not member.outcome.done():
                    conflict = Conflict({key: moved[key] for key in concerned})
                    member.outcome.set_exception(conflict)
            else:
                again.append(member)
        return again

    def _carries_id(self, ranges: Sequence[wire.Message]) -> int:
        """The revision of a written key that carries this group's id; 0 where there is none."""
        for key, found in zip(self._group.guards, ranges, strict=True):
            kvs = found.get("kvs")
            if kvs and key in self._group.written:
                value = wire.unb64(kvs[0].get("value", ""))
                if records.transaction_of(value) == self._id:
                    return wire.number(kvs[0], "mod_revision")
        return 0

    async def _find_in_history(self) -> int:
        """Shut out every sending so far, then look for one that was applied; 0 where none was.

        Raises Unavailable and Expired: then it cannot be known.
        """
        try:
            async with asyncio.timeout(max(self._give_up_at - self._patience.clock(), 0.1)):
                fence = await self._fence.shut()
                async with aclosing(self._store.raw_events(self._known_revision)) as revisions:
                    async for revision in revisions:
                        if self._is_mine(revision):
                            return revision[0]
                        if revision[0] >= fence:
                            break
        except TimeoutError as error:
            raise Unavailable("etcd's events did not come in time") from error
        self._uncertain = False
        return 0

    def _is_mine(self, revision: RawRevision) -> bool:
        _, events = revision
        if len(events) != len(self._group.written):
            return False
        for event in events:
            if event.get("type") != "DELETE":
                value = wire.unb64(event["kv"].get("value", ""))
                return records.transaction_of(value) == self._id
        keys = {self._store.relative_key(wire.unb64(event["kv"]["key"])) for event in events}
        return keys == self._group.written

    async def _judge_full(self, full: NoSpace) -> None:
        """etcd says that its database is full: was this the write that filled it?

        etcd has answered, so nothing more is outstanding than before; but the fence cannot be
        raised, so that what was uncertain before stays so.
        """
        certain = not self._uncertain
        self._uncertain = True
        keys = [self._store.full_key(key) for key in self._group.guards]
        try:
            answer = await self._store.client.ask("/kv/txn", wire.reads_request(keys, 0))
        except (TransactionError, StorageError) as error:
            self._fail(error)
            return
        applied_at = self._carries_id([each["response_range"] for each in answer["responses"]])
        if applied_at:
            self._succeed(applied_at)
            return
        self._uncertain = not certain
        self._fail(full)


def _mod_revision(found: wire.Message) -> int:
    kvs = found.get("kvs")
    return wire.number(kvs[0], "mod_revision") if kvs else 0
