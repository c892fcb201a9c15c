"""Admission's own CPU per request: the real evaluator above a store that costs next to nothing.

What counts: planning, waiting rooms, claims, charge, judgement, ledgers, and the transaction with the
shoot's and the ledgers' JSON. What does not: HTTP, the registry, etcd. As many requests wait at
once as clients would be connected; their shoots are made just before, as a server has just parsed
them, and garbage is collected as seldom as a server does it.
"""

import asyncio
import gc
import itertools
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any

import uvloop

from admission.interface import Intent
from admission.quota.evaluator import Evaluator
from admission.quota.ledger import Surroundings
from admission.quota.views import Views
from apis.garden.v1beta1.register import BY_KIND
from apis.meta.keys import object_key
from apis.meta.request import Attributes, Operation, UserInfo
from apis.meta.transaction import Object
from hack.bench import plots, world
from hack.bench.installation import Bench
from hack.bench.memory_transactor import MemoryTransactor
from hack.bench.report import Report, Verdict, picture, table
from quotaapi.server import collection
from tests.builders import a_binding, a_profile, a_quota

NAME = "admission"

AT_ONCE = 100
_USER = UserInfo("bench")
_START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Row:
    """`ledgers` bindings with two quotas each, the requests spread over all of them."""

    shoots: int
    ledgers: int
    batches: int
    requests: int
    microseconds: float


class _Directory:
    """No decision rests on it, and nothing here is deleted."""

    def shoots_of(self, binding_key: str, limit: int = 0) -> Sequence[str]:
        del binding_key, limit
        return ()

    def bindings_of(self, namespace: str, name: str, limit: int = 0) -> Sequence[str]:
        del namespace, name, limit
        return ()

    def usages_of(self, namespace: str, name: str, limit: int = 0) -> Sequence[str]:
        del namespace, name, limit
        return ()

    async def catch_up(self) -> None:
        return


class _Scene:
    """An evaluator and what stands below it; `admit` is what is measured."""

    def __init__(self, ledgers: int) -> None:
        self.transactor = MemoryTransactor()
        uids = itertools.count()
        around = Surroundings(_Directory(), lambda: _START, lambda: f"uid-{next(uids)}")
        self.evaluator = Evaluator(self.transactor, around, views=Views(10_000))
        self._ledgers = ledgers
        self._serial = itertools.count()

    async def prepare(self) -> None:
        await self._put(a_profile())
        for number in range(self._ledgers):
            names = (f"total-{number}", f"each-{number}")
            await self._put(a_quota(name=names[0], metrics=world.PLENTY))
            await self._put(a_quota(name=names[1], scope="project", metrics=world.PLENTY))
            await self._put(
                a_binding(name=f"binding-{number}", namespace=world.NAMESPACE, quotas=names)
            )

    def shoots(self, count: int) -> list[Intent]:
        return [self._shoot(next(self._serial)) for _ in range(count)]

    async def admit(self, intents: Sequence[Intent]) -> float:
        """CPU seconds of the process, `AT_ONCE` requests waiting at a time."""
        start = time.process_time()
        for first in range(0, len(intents), AT_ONCE):
            await asyncio.gather(*map(self.evaluator.admit, intents[first : first + AT_ONCE]))
        return time.process_time() - start

    async def _put(self, obj: Object) -> None:
        await self.evaluator.admit(_intent(obj))

    def _shoot(self, number: int) -> Intent:
        obj = world.shoot(f"shoot-{number}")
        obj["spec"]["cloud"]["secretBindingRef"]["name"] = f"binding-{number % self._ledgers}"
        return _intent(obj)


def _intent(obj: Object) -> Intent:
    resource, metadata = BY_KIND[obj["kind"]], obj["metadata"]
    metadata["uid"] = f"uid-of-{metadata['name']}"
    metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    attributes = Attributes(Operation.CREATE, resource, namespace, name, _USER, obj, None)
    return Intent(attributes, object_key(resource.plural, namespace, name), None, obj)


def measure(bench: Bench) -> list[dict[str, Any]]:
    scale = bench.scale
    cases = [(shoots, 1) for shoots in scale.populations]
    cases += [(0, ledgers) for ledgers in scale.ledgers if ledgers > 1]
    rows = []
    for _ in range(scale.rounds):
        for shoots, ledgers in cases:
            row = uvloop.run(_measure(shoots, ledgers, scale.admissions))
            bench.say(f"{shoots:6} shoots, {ledgers:5} bindings: {row.microseconds:6.1f} us")
            rows.append(asdict(row))
    return rows


async def _measure(shoots: int, ledgers: int, requests: int) -> Row:
    scene = _Scene(ledgers)
    running = asyncio.ensure_future(scene.evaluator.run())
    try:
        await asyncio.sleep(0)
        await scene.prepare()
        # Every ledger is opened, and every cache filled, before it counts.
        await scene.admit(scene.shoots(max(shoots, ledgers, AT_ONCE)))
        requests -= requests % AT_ONCE
        commits = scene.transactor.commits
        with _collecting_as_servers_do():
            seconds = sum(
                [await scene.admit(scene.shoots(AT_ONCE)) for _ in range(requests // AT_ONCE)]
            )
        batches = scene.transactor.commits - commits
        return Row(shoots, ledgers, batches, requests, seconds / requests * 1e6)
    finally:
        scene.evaluator.close()
        await running


@contextmanager
def _collecting_as_servers_do() -> Iterator[None]:
    before = gc.get_threshold()
    collection.begin()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def report(results: Sequence[dict[str, Any]]) -> Report:
    rows = [Row(**row) for row in results]
    cases = list(dict.fromkeys((row.shoots, row.ledgers) for row in rows))
    by = {case: [r for r in rows if (r.shoots, r.ledgers) == case] for case in cases}
    micros = {case: median(row.microseconds for row in by[case]) for case in cases}
    lines = [
        [
            _label(case),
            plots.number(by[case][0].requests / by[case][0].batches),
            plots.number(micros[case]),
        ]
        for case in cases
    ]
    chart = plots.Chart(
        "Admission's own CPU per request",
        "µs",
        [_label(case) for case in cases],
        [plots.Series("", [micros[case] for case in cases])],
    )
    text = table(("on the books", "requests per batch", "CPU µs per request"), lines)
    text += "\n\n" + picture("admission.svg", "Admission's own CPU per request")
    alone = [case for case in cases if case[1] == 1]
    growth = micros[alone[-1]] / micros[alone[0]]
    return Report(
        text,
        [
            Verdict(
                "admission's own CPU per request, one binding",
                100,
                micros[alone[-1]],
                "µs",
                at_most=True,
            ),
            Verdict(f"the same, {_label(alone[-1])} ÷ none", 1.1, growth, at_most=True),
            Verdict(f"the same, {_label(cases[-1])}", 100, micros[cases[-1]], "µs", at_most=True),
        ],
        {"admission.svg": plots.rows(chart)},
    )


def _label(case: tuple[int, int]) -> str:
    shoots, ledgers = case
    if ledgers == 1:
        return f"{shoots:,} shoots, 1 binding, 2 quotas"
    return f"{ledgers:,} bindings, {2 * ledgers:,} quotas"
