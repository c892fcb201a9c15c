"""Wires the controllers: what the one leader does besides serving. Starts nothing."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from admission.interface import Mandate
from admission.quota.evaluator import Evaluator
from apis.garden.v1beta1.register import SHOOT
from quotaapi.config import Config
from quotaapi.controllers.collector import Collector
from quotaapi.controllers.leader import Leader
from quotaapi.controllers.lifetime import Lifetime
from quotaapi.controllers.recharge import Recharge
from quotaapi.controllers.resync import Resync
from quotaapi.endpoints.metrics import Family, counter, gauge
from quotaapi.endpoints.mutations import Mutations
from quotaapi.registry import identity
from quotaapi.registry.rest import Rest
from quotaapi.server.persistence import Storage
from storage.etcd.leases import Leases

MandateOf = Callable[[], Mandate]


@dataclass(frozen=True, slots=True)
class Duties:
    """`run` it for as long as the server runs."""

    leader: Leader
    resync: Resync
    recharge: Recharge
    lifetime: Lifetime
    collector: Collector | None
    """None where a cluster's controller-manager collects garbage."""

    async def run(self) -> None:
        duties = [self.resync.run, self.recharge.run, self.lifetime.run]
        if self.collector is not None:
            duties.append(self.collector.run)
        await self.leader.run(duties)

    def statistics(self) -> Sequence[Family]:
        return (
            gauge("quotaapi_leader", "1: this replica runs the controllers.", self.leader.leads),
            counter("quotaapi_leader_terms_total", "Times it became leader.", self.leader.terms),
            counter(
                "quotaapi_ledger_drift_total",
                "Ledgers that a recount found wrong; 0 is the promise.",
                self.resync.drift,
            ),
            counter("quotaapi_ledger_repaired_total", "Of those, mended.", self.resync.repaired),
            counter("quotaapi_resync_rounds_total", "Recounts of everything.", self.resync.rounds),
            counter(
                "quotaapi_shoots_recharged_total",
                "Shoots charged anew by changed prices.",
                self.recharge.recharged,
            ),
            counter(
                "quotaapi_shoots_expired_total",
                "Shoots deleted at the end of their lifetime.",
                self.lifetime.deleted,
            ),
            counter(
                "quotaapi_garbage_collected_total",
                "Objects deleted because their owners were gone.",
                self.collector.collected if self.collector is not None else 0,
            ),
        )


@dataclass(frozen=True, slots=True)
class Writers:
    """Through whom the controllers write. `rests`: the verbs of every kind, under a mandate."""

    evaluator: Evaluator
    mutations: Mutations
    rests: Callable[[MandateOf], Mapping[str, Rest]]
    clock: Callable[[], datetime]


def build_duties(config: Config, storage: Storage, writers: Writers, *, collects: bool) -> Duties:
    """Wire them; `writers.clock` tells when a shoot's time is over. `collects`: nobody else does."""
    built, evaluator = storage.stack, writers.evaluator
    leader = Leader(
        Leases(storage.store),
        built.transactor.confirm,
        name=identity.new_uid(),
        clock=time.monotonic,
        jitter=random.random,
        unfit=lambda: built.reflector.fault,
    )
    resync = Resync(
        storage.store,
        evaluator,
        mandate=leader.mandate,
        carry_out=writers.mutations.run,
        interval_seconds=config.resync_interval_seconds,
    )
    recharge = Recharge(
        built.reader,
        built.transactor,
        evaluator,
        mandate=leader.mandate,
        carry_out=writers.mutations.run,
        sweep_seconds=config.resync_interval_seconds,
    )
    rests = writers.rests(leader.mandate)
    lifetime = Lifetime(rests[SHOOT.plural], writers.mutations.run, writers.clock)
    collector = Collector(rests, writers.mutations.run) if collects else None
    return Duties(leader, resync, recharge, lifetime, collector)
