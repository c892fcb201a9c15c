"""Twenty-two creates at once on one quota: one by one, and as a batch."""

import asyncio
import base64
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Final

import requests

from apis.meta.codec import encode
from apis.meta.keys import object_key
from hack.bench import elsewhere, naive, plots, world
from hack.bench.installation import Bench, Installation, installation
from hack.bench.report import Report, Verdict, picture, table
from tests.builders import a_binding, a_profile, a_quota
from tests.harness.api import Api

NAME = "batching"

AT_ONCE: Final = 22
_QUOTA: Final = "one"
_PREFIX: Final = "/registry/"


@dataclass(frozen=True, slots=True)
class Row:
    """One burst. `quota_writes`: attempts, of which `conflicts` were in vain."""

    batched: bool
    quota_writes: int
    conflicts: int
    transactions: int
    seconds: float


def measure(bench: Bench) -> list[dict[str, Any]]:
    rows: list[Row] = []
    with installation() as made:
        made.with_api(_prepare)
        for number in range(bench.scale.bursts + 1):
            found = [_one_by_one(made, number), asyncio.run(_batched(made, number))]
            if number:  # the first burst warms up
                rows += found
                for row in found:
                    bench.say(
                        f"{'batched' if row.batched else 'naive  '}: {row.quota_writes} writes, "
                        f"{row.conflicts} conflicts, {row.transactions} transactions"
                    )
        made.audit()
    return [asdict(row) for row in rows]


async def _prepare(api: Api) -> None:
    await api.have(
        a_profile(),
        a_quota(name=_QUOTA, metrics=world.PLENTY),
        a_binding(name=world.BINDING, namespace=world.NAMESPACE, quotas=(_QUOTA,)),
    )


def _one_by_one(made: Installation, number: int) -> Row:
    objects = [(f"naive-{number}-{n}", world.shoot(f"naive-{number}-{n}")) for n in range(AT_ONCE)]
    costs, seconds = asyncio.run(naive.burst(made.etcd.endpoint, objects, seed=number))
    return Row(False, costs.updates, costs.conflicts, costs.transactions, seconds)


async def _batched(made: Installation, number: int) -> Row:
    """Over connections that stand already, so that the requests arrive at once."""
    server = made.server
    async with server.client(connections=AT_ONCE) as session:
        api = Api(session)
        await asyncio.gather(*(api.request("GET", "quotas") for _ in range(AT_ONCE)))
        writes = await asyncio.to_thread(_quota_writes, made)
        sent = await asyncio.to_thread(made.metric, "quotaapi_etcd_txns_total")
        failed = await asyncio.to_thread(made.metric, "quotaapi_etcd_failed_compares_total")
        begin = asyncio.get_running_loop().time()
        answers = await asyncio.gather(
            *(api.create(world.shoot(f"burst-{number}-{n}")) for n in range(AT_ONCE))
        )
        seconds = asyncio.get_running_loop().time() - begin
        if {answer.status for answer in answers} != {201}:
            raise RuntimeError(f"a create failed: {answers}")
        sent = await asyncio.to_thread(made.metric, "quotaapi_etcd_txns_total") - sent
        failed = (
            await asyncio.to_thread(made.metric, "quotaapi_etcd_failed_compares_total") - failed
        )
        writes = await asyncio.to_thread(_quota_writes, made) - writes
    return Row(True, writes + int(failed), int(failed), int(sent), seconds)


def _quota_writes(made: Installation) -> int:
    """How often etcd has seen the quota written: it counts that itself, key by key."""
    key = _PREFIX + object_key("quotas", "garden-trial", _QUOTA)
    request = encode({"key": base64.b64encode(key.encode()).decode()})
    with requests.Session() as session:
        session.trust_env = False
        answer = session.post(f"{made.etcd.endpoint}/v3/kv/range", data=request, timeout=10).json()
    return int(answer["kvs"][0]["version"])


def report(results: Sequence[dict[str, Any]]) -> Report:
    rows = [Row(**row) for row in results]
    one_by_one = [row for row in rows if not row.batched]
    batched = [row for row in rows if row.batched]
    columns: Sequence[Callable[[Row], float]] = (
        lambda row: row.quota_writes,
        lambda row: row.conflicts,
        lambda row: row.transactions,
        lambda row: row.seconds * 1e3,
    )
    lines = [
        [label, *(_range([value(row) for row in found]) for value in columns)]
        for label, found in (("one by one", one_by_one), ("batched", batched))
    ]
    before = ("before its look-aside cache", elsewhere.UPDATES_BEFORE, elsewhere.CONFLICTS_BEFORE)
    after = ("with it", elsewhere.UPDATES_AFTER, elsewhere.CONFLICTS_AFTER)
    lines += [
        [f"*kube-apiserver, {label}*", f"*{updates}*", f"*{conflicts}*", "", ""]
        for label, updates, conflicts in (before, after)
    ]
    heading = (
        f"{AT_ONCE} creates at once", "quota writes tried", "in vain", "etcd transactions", "ms until the last",
    )  # fmt: skip
    chart = plots.Chart(
        f"{AT_ONCE} creates at once on one quota",
        "median of the bursts",
        ["quota writes tried", "in vain", "etcd transactions"],
        [
            plots.Series(
                "one by one", [median(map(value, one_by_one)) for value in columns[:3]], 2
            ),
            plots.Series("batched", [median(map(value, batched)) for value in columns[:3]], 0),
        ],
    )
    text = (
        table(heading, lines) + "\n\n" + picture("batching.svg", "Writes and conflicts of a burst")
    )
    return Report(
        text,
        [
            Verdict(
                f"quota writes for {AT_ONCE} creates at once, most of any burst",
                3,
                max(row.quota_writes for row in batched),
                at_most=True,
            ),
            Verdict("conflicts of these", 0, sum(row.conflicts for row in batched), at_most=True),
        ],
        {"batching.svg": plots.bars(chart)},
    )


def _range(values: Sequence[float]) -> str:
    """The median, and between what all lie."""
    low, high = min(values), max(values)
    text = plots.number(median(values))
    return text if low == high else f"{text} ({plots.number(low)} to {plots.number(high)})"
