"""One group on its way to an outcome for each of its members: `group_commit` tells the whole story."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from apis.meta.transaction import (
    Conflict,
    NoSpace,
    OutcomeUnknown,
    TooLarge,
    TransactionError,
    Unavailable,
)
from storage.etcd import records, wire
from storage.etcd.evidence import Evidence, modified
from storage.etcd.fence import Fence
from storage.etcd.merging import Group, Waiting, compare_mark, refuse
from storage.etcd.refusals import Unanswered
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
    """One sending, and what became of it. `meanwhile` is called again and again while that has to be
    found out, so that those who wait behind are not forgotten."""

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
        self._known_revision = 0
        """The store was here before the sending: if it is applied, it is later. Moves on with the
        events that are read."""
        self._decided_at = 0
        """The revision after which it cannot be applied any more: the fence's, once it is raised
        for this sending, or one that replaced what it replaces."""
        self._give_up_at = patience.clock() + patience.deadline_seconds
        self._marked = store.marks.newest(group.guards)
        """The guard by whose value etcd's history is known again, and its mark."""

    async def settle(self) -> Sequence[Waiting]:
        """Give members their outcome; answers those that are to go again.

        Raises TooLarge where etcd refuses the request as such; no member has an outcome then.
        """
        try:
            return await self._judge(await self._send())
        except TooLarge:
            raise
        except Unanswered as lost:
            self._counters.lost_answers += 1
            return await self._find_out(lost)
        except NoSpace as error:
            await self._judge_full(error, outstanding=False)
        except (TransactionError, StorageError) as error:
            refuse(self._group.members, Unavailable, str(error))
        return ()

    def _leave_open(self, error: TransactionError | StorageError) -> None:
        refuse(self._group.members, OutcomeUnknown, f"etcd's answer was lost: {error}")

    async def _send(self) -> wire.Message:
        """The answer to the Txn, which is sent once. Raises Unanswered, and what etcd refuses."""
        if not self._store.seen_revision:
            # Once in a process's life: history from its very beginning is compacted.
            await self._store.current_revision()
        self._known_revision = max(self._store.seen_revision, *self._group.guards.values())
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
        self._counters.sent(len(self._group.written))
        return await self._store.client.call(
            "/kv/txn", body, timeout_seconds=self._patience.attempt_seconds
        )

    async def _judge(self, answer: wire.Message) -> Sequence[Waiting]:
        """What etcd's answer means for each member. Raises Unavailable."""
        revision = self._store.note(answer)
        if answer.get("succeeded"):
            if self._group.raises_fence:
                self._fence.revision = revision
            self._succeed(revision)
            return ()
        self._counters.failed_compares += 1
        compared = self._fence.revision
        try:
            revision, (fence, *ranges) = await self._store.ranges(
                (self._fence.key, *self._group.guards)
            )
        except Unavailable as error:
            return await self._find_out(error)
        self._fence.revision = modified(fence)
        found = Evidence(self._group, fence, ranges, compared_fence=compared)
        if found.is_other_history(revision, self._marked):
            self._store.on_doubt()
            raise Unavailable("etcd has another history than before: it was restored")
        if applied_at := found.applied_at(self._id):
            self._succeed(applied_at)
            return ()
        decided_at = found.decided_at()
        # What had moved before the sending left no copy applicable, and no event is to be waited for.
        if decided_at is None or 0 < decided_at <= self._known_revision:
            return self._route(found.moved, revision)
        self._decided_at = decided_at
        doubt = Unavailable("another copy of the write may have been applied")
        return await self._find_out(doubt, lambda: self._route(found.moved, revision))

    def _succeed(self, revision: int) -> None:
        self._counters.committed += len(self._group.members)
        for member, committed in self._group.committed(revision):
            for key, record in committed.records.items():
                mark = records.mark_of(records.mark(record.position, self._id))
                self._store.marks.note(key, revision, mark)
                self._store.own.keep(record, mark)
            if not member.outcome.done():
                member.outcome.set_result(committed)

    def _route(self, found: Mapping[str, wire.Message], revision: int) -> Sequence[Waiting]:
        """Guards had moved, as found at `revision`: whose? The others go again."""
        moved = {key: self._store.snapshot(key, answer) for key, answer in found.items()}
        again = []
        for member in self._group.members:
            concerned = moved.keys() & member.transaction.guards.keys()
            if concerned:
                self._counters.conflicts += 1
                if not member.outcome.done():
                    conflict = Conflict({key: moved[key] for key in concerned}, revision)
                    member.outcome.set_exception(conflict)
            else:
                again.append(member)
        return again

    async def _find_out(
        self,
        error: TransactionError | StorageError,
        refused: Callable[[], Sequence[Waiting]] | None = None,
    ) -> Sequence[Waiting]:
        """The sending may have been applied, or may be yet. Answers who is to go again. Where it was
        not applied, and cannot be any more, that is everybody, or who is left by `refused`."""
        pause_seconds = _FIRST_PAUSE_SECONDS if refused is None else 0.0
        while self._patience.clock() <= self._give_up_at:
            self._meanwhile()
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(
                max(pause_seconds * 2, _FIRST_PAUSE_SECONDS), _LONGEST_PAUSE_SECONDS
            )
            try:
                applied_at = await self._find_in_history()
            except NoSpace as full:
                await self._judge_full(full, outstanding=True)
                return ()
            except (Unanswered, Unavailable) as failure:
                error = failure
            except StorageError as failure:
                error = failure
                break
            else:
                if applied_at:
                    self._succeed(applied_at)
                    return ()
                return refused() if refused else self._group.members
        self._leave_open(error)
        return ()

    async def _find_in_history(self) -> int:
        """Shut the sending out, then look whether it was applied; 0 where it was not.

        Called again, it goes on where it was. Raises Unanswered and Unavailable, and Expired: then
        it cannot be known.
        """
        seconds = self._patience.attempt_seconds
        if not self._decided_at:
            self._decided_at = await self._fence.shut(seconds)
        try:
            async with (
                asyncio.timeout(seconds),
                aclosing(self._store.raw_events(self._known_revision)) as revisions,
            ):
                async for revision in revisions:
                    if self._is_mine(revision):
                        return revision[0]
                    self._known_revision = revision[0]
                    if revision[0] >= self._decided_at:
                        return 0
        except TimeoutError as error:
            raise Unavailable("etcd's events did not come in time") from error
        raise Unavailable("etcd's events ended")

    def _is_mine(self, revision: RawRevision) -> bool:
        """By the id in a put, be it the fence's: each group has one, and a revision one id."""
        _, events = revision
        for event in events:
            if event.get("type") != "DELETE":
                value = wire.unb64(event["kv"].get("value", ""))
                return records.transaction_of(value) == self._id
        return False

    async def _judge_full(self, full: NoSpace, *, outstanding: bool) -> None:
        """etcd says that its database is full: was this the write that filled it?

        `outstanding`: it did not say so to the sending, whose fate is not known, but to the fence,
        which cannot be raised. Then what is not found now may still come.
        """
        self._store.space.refused()
        try:
            _, (fence, *found) = await self._store.ranges((self._fence.key, *self._group.guards))
        except (TransactionError, StorageError) as error:
            self._leave_open(error)
            return
        compared, self._fence.revision = self._fence.revision, modified(fence)
        evidence = Evidence(self._group, fence, found, compared_fence=compared)
        applied_at = evidence.applied_at(self._id)
        if applied_at:
            self._succeed(applied_at)
        elif outstanding:
            self._leave_open(full)
        else:
            refuse(self._group.members, NoSpace, str(full))
