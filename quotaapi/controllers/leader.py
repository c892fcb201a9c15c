"""Which replica runs the controllers: the one that holds a key under an etcd lease.

    waiting     looks, now and then, whether the key is free; then takes a lease and tries to get it
    leading     runs the duties, renews the lease three times in its life, and checks that the key
                is still its own

*A leader that was paused* wakes up and does not know that its lease has ended. It cannot act all the
same: every transaction of its duties carries its *mandate*, the key at the revision at which it was
taken, as one more guard. The clock is looked at besides, so that a leader that cannot reach etcd
stops by itself when its time is up; nothing rests on that.

*Shutdown* ends the duties and revokes the lease, whereupon another replica takes over within a look.
What a duty has begun to write by then is refused, or done.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

from admission.interface import Mandate
from apis.meta import codec, errors
from apis.meta.keys import INTERNAL
from apis.meta.transaction import TransactionError
from storage.interface import StorageError

_log = logging.getLogger(__name__)

KEY: Final = INTERNAL + "leader"
TTL_SECONDS: Final = 15
LOOK_SECONDS: Final = 2.0
"""Between two looks at somebody else's key, give or take a half."""
REVOKE_SECONDS: Final = 2.0
REST_SECONDS: Final = 10.0
"""After a duty failed by a fault of its own."""

FAILURES = (TransactionError, StorageError)

Duty = Callable[[], Coroutine[Any, Any, None]]
"""Runs until it is cancelled."""


class Leases(Protocol):
    """`storage.etcd.leases`."""

    async def grant(self, ttl_seconds: int) -> str: ...

    async def keep_alive(self, lease: str) -> float: ...

    async def revoke(self, lease: str) -> None: ...

    async def holder(self, key: str) -> int: ...

    async def take(self, key: str, lease: str, body: bytes) -> int: ...


class Leader:
    """`run` it for as long as the server runs; `mandate` while it leads.

    `confirm` asks etcd whether keys are at the given revisions, and makes what it learns known to
    this process's writers: they would otherwise refuse a mandate that the cache has not heard of.
    `unfit` tells why this replica is not to lead, empty where it may: one that cannot read what a
    newer release has stored would do nothing, and keep those that can from doing it.
    """

    def __init__(
        self,
        leases: Leases,
        confirm: Callable[[Mapping[str, int]], Awaitable[bool]],
        *,
        name: str,
        clock: Callable[[], float],
        jitter: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        ttl_seconds: int = TTL_SECONDS,
        unfit: Callable[[], str] = str,
    ) -> None:
        self._leases = leases
        self._unfit = unfit
        self._confirm = confirm
        self._name = name
        self._clock = clock
        self._jitter = jitter
        self._sleep = sleep
        self._ttl_seconds = ttl_seconds
        self._mandate: Mandate | None = None
        self._until = 0.0
        self.terms = 0
        """How often this replica has become leader."""

    @property
    def leads(self) -> bool:
        return self._mandate is not None and self._clock() < self._until

    def mandate(self) -> Mandate:
        """What every write of a duty is to carry. Raises StatusError where this replica leads no
        more."""
        if self._mandate is None or not self.leads:
            raise errors.service_unavailable("this replica does not lead any more", 1)
        return self._mandate

    async def run(self, duties: Sequence[Duty]) -> None:
        """Until cancelled."""
        while True:
            lease = await self._campaign()
            if lease is None:
                await self._sleep(LOOK_SECONDS * (0.5 + self._jitter()))
                continue
            try:
                await self._lead(lease, duties)
            finally:
                self._mandate = None
                await self._give_up(lease)
            _log.warning("%s does not lead any more", self._name)

    async def _campaign(self) -> str | None:
        """The lease under which this replica leads from now on; None where it does not."""
        lease = ""
        try:
            if self._unfit() or await self._leases.holder(KEY):
                return None
            asked_at = self._clock()
            lease = await self._leases.grant(self._ttl_seconds)
            body = codec.encode({"holder": self._name})
            revision = await self._leases.take(KEY, lease, body)
            if revision and await self._confirm({KEY: revision}):
                self._mandate = Mandate(KEY, revision)
                self._until = asked_at + self._ttl_seconds
                return lease
        except FAILURES as error:
            _log.debug("cannot stand for leader: %s", error)
        except asyncio.CancelledError:
            await self._give_up(lease)
            raise
        await self._give_up(lease)
        return None

    async def _lead(self, lease: str, duties: Sequence[Duty]) -> None:
        self.terms += 1
        _log.info("%s leads: it runs the controllers", self._name)
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(self._go_on(duty)) for duty in duties]
            try:
                await self._keep(lease)
            finally:
                self._mandate = None
                for task in running:
                    task.cancel()

    async def _go_on(self, duty: Duty) -> None:
        while True:
            try:
                await duty()
            except Exception:  # noqa: BLE001 -- a fault here must not end serving, here or elsewhere
                _log.exception("a controller failed, and begins anew")
            await self._sleep(REST_SECONDS)

    async def _keep(self, lease: str) -> None:
        """Renew the lease until it or the key is lost."""
        pause_seconds = self._ttl_seconds / 3
        while True:
            await self._sleep(pause_seconds * (0.8 + 0.2 * self._jitter()))
            if why := self._unfit():
                _log.warning("%s gives up leading: %s", self._name, why)
                return
            asked_at = self._clock()
            try:
                left_seconds = await self._leases.keep_alive(lease)
                mandate = self._mandate
                if not left_seconds or mandate is None:
                    return
                if not await self._confirm({mandate.key: mandate.mod_revision}):
                    return
            except FAILURES as error:
                _log.warning("the leader's lease is not renewed: %s", error)
                if self._clock() >= self._until:
                    return
                pause_seconds = self._ttl_seconds / 15
            else:
                self._until = asked_at + left_seconds
                pause_seconds = self._ttl_seconds / 3

    async def _give_up(self, lease: str) -> None:
        """Let others lead at once; where etcd does not hear it, they wait until the lease ends."""
        if lease:
            with suppress(TimeoutError, *FAILURES):
                async with asyncio.timeout(REVOKE_SECONDS):
                    await self._leases.revoke(lease)
