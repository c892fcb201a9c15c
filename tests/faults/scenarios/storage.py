"""What operators do to etcd, or what happens to it: compaction, a full disk, a restored backup."""

import asyncio
import base64
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import aiohttp

from apis.meta.keys import INTERNAL
from tests.etcd_process import EtcdProcess
from tests.faults.filling import call
from tests.faults.load import Load
from tests.faults.rig import Bounds, one_etcd, rig

SMALL_BACKEND_BYTES = 2 << 20

Step = Callable[[EtcdProcess, Path], None]


async def history_is_compacted(bounds: Bounds) -> None:
    """To the newest revision, again and again, under load: nothing may rest on what is gone."""
    async with one_etcd() as etcd, rig(etcd.endpoint, bounds, replicas=2) as running:  # noqa: SIM117 -- the load within
        async with running.load() as load:
            for _ in range(bounds.rounds * 5):
                await load.some_answers(20)
                await compact(etcd.endpoint)


async def disk_is_full(bounds: Bounds) -> None:
    """etcd goes read-only; when there is room again and the alarm is off, writes go on."""
    async with (
        one_etcd(arguments=(f"--quota-backend-bytes={SMALL_BACKEND_BYTES}",)) as etcd,
        rig(etcd.endpoint, bounds, replicas=2) as running,
        running.load() as load,
    ):
        for _ in range(bounds.rounds):
            await _fill(etcd.endpoint)
            await _until_refused(load)
            reads = [await api.request("GET", "quotas") for api in running.apis]
            assert {answer.status for answer in reads} == {200}
            await _make_room(etcd.endpoint)
            await load.some_answers(60)


async def _until_refused(load: Load) -> None:
    async with asyncio.timeout(60):
        while not load.promises.counts.get("create 507"):
            await asyncio.sleep(0.1)  # clients run into it
    await asyncio.sleep(1)


async def _fill(etcd_url: str) -> None:
    """Garbage under another tenant's keys, until etcd says that it is full."""
    async with aiohttp.ClientSession() as session:
        for _ in range(200):
            body = {"key": "Z2FyYmFnZQ==", "value": "eHh4" * 30_000}
            async with session.post(f"{etcd_url}/v3/kv/put", json=body) as answer:
                if answer.status != 200:
                    assert "space exceeded" in await answer.text()
                    return
    raise AssertionError("etcd does not get full")


async def _make_room(etcd_url: str) -> None:
    await call(etcd_url, "kv/deleterange", {"key": "Z2FyYmFnZQ=="})
    await compact(etcd_url)
    await call(etcd_url, "maintenance/defragment", {})
    await call(
        etcd_url,
        "maintenance/alarm",
        {"action": "DEACTIVATE", "alarm": "NOSPACE", "memberID": "0"},
    )
    alarms = await call(etcd_url, "maintenance/alarm", {"action": "GET"})
    for alarm in alarms.get("alarms", ()):
        await call(etcd_url, "maintenance/alarm", {"action": "DEACTIVATE", **alarm})


async def keys(etcd_url: str) -> list[str]:
    """Of all objects and ledgers."""
    found = await call(
        etcd_url,
        "kv/range",
        {"key": _base64("/registry/"), "range_end": _base64("/registry0"), "keys_only": True},
    )
    names = [base64.b64decode(each["key"]).decode() for each in found.get("kvs", ())]
    return [name for name in names if not name.startswith(f"/registry/{INTERNAL}")]


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def compact(etcd_url: str, revision: int = 0) -> None:
    """To `revision`; 0: the newest."""
    if not revision:
        newest = await call(etcd_url, "kv/range", {"key": "AA=="})
        revision = newest["header"]["revision"]  # type: ignore[call-overload]  # an object inside
    await call(etcd_url, "kv/compaction", {"revision": revision, "physical": True})


async def backup_is_restored(bounds: Bounds) -> None:
    """By `etcdctl snapshot restore`, replicas and clients alive: revisions go backwards."""
    await _restored(bounds, _save_by_etcdctl, _restore_by_etcdctl)


async def data_are_put_back(bounds: Bounds) -> None:
    """A copy of etcd's directory is put back: the same cluster, at an older revision."""
    await _restored(bounds, _save_by_copying, _restore_by_copying)


async def _restored(bounds: Bounds, save: Step, restore: Step) -> None:
    """What clients were told before is void afterwards; what they are told from then on is not."""
    with tempfile.TemporaryDirectory(prefix="faults-backup-") as text:
        async with one_etcd() as etcd, rig(etcd.endpoint, bounds, replicas=2) as running:
            for number in range(bounds.rounds):
                backup = Path(text, str(number))
                async with running.unreckoned_load() as before:
                    await before.some_answers(60)
                    await asyncio.to_thread(save, etcd, backup)
                    await before.some_answers(100)
                    await asyncio.to_thread(restore, etcd, backup)
                    # At once, while replicas may not have noticed yet.
                    async with running.load() as load:
                        load.promises.conflicts = True
                        await load.some_answers(100)
                        before.stop()


def _save_by_etcdctl(etcd: EtcdProcess, backup: Path) -> None:
    _etcdctl(etcd, "snapshot", "save", str(backup))


def _restore_by_etcdctl(etcd: EtcdProcess, backup: Path) -> None:
    etcd.kill()
    shutil.rmtree(etcd.data_directory)
    _etcdctl(
        etcd,
        *("snapshot", "restore", str(backup)),
        *("--data-dir", str(etcd.data_directory), "--name", "test"),
        *("--initial-cluster", f"test={etcd.peer_url}"),
        *("--initial-advertise-peer-urls", etcd.peer_url),
    )
    etcd.start()


def _etcdctl(etcd: EtcdProcess, *arguments: str) -> None:
    subprocess.run(
        [etcd.tool, f"--endpoints={etcd.endpoint}", *arguments],
        env={**os.environ, "ETCDCTL_API": "3"},
        capture_output=True,
        check=True,
        timeout=60,
    )


def _save_by_copying(etcd: EtcdProcess, backup: Path) -> None:
    etcd.kill()
    shutil.copytree(etcd.data_directory, backup)
    etcd.start()


def _restore_by_copying(etcd: EtcdProcess, backup: Path) -> None:
    etcd.kill()
    shutil.rmtree(etcd.data_directory)
    shutil.copytree(backup, etcd.data_directory)
    etcd.start()
