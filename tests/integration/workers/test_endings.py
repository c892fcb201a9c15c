"""Workers, and their supervisor, end in every way there is."""

import asyncio
import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.builders import a_quota
from tests.harness.api import Api
from tests.harness.burst import ROOM, assert_kept, burst, have_quota, shoots, split
from tests.harness.etcd import assert_exact
from tests.harness.server import GROUP_PATH, ROOT, ServerProcess
from tests.integration.workers.processes import (
    Ends,
    Numbers,
    all_ready,
    children,
    numbers,
    numbers_when,
    workers,
)

pytestmark = pytest.mark.integration

TWO = ("--workers", "2")


async def test_a_worker_that_is_killed_in_a_burst_comes_back_and_leaves_exact_accounts(
    tmp_path: Path, own_etcd_url: str
) -> None:
    with ServerProcess(tmp_path / "data", etcd_servers=own_etcd_url, arguments=TWO) as server:
        await asyncio.to_thread(numbers_when, server, all_ready, 30.0)
        async with server.client() as session:
            api = Api(session)
            await have_quota(api)
            before = await asyncio.to_thread(numbers, server)
            victim = workers(server)[0]

            def kill(count: int) -> None:
                if count == 300:
                    os.kill(victim, signal.SIGKILL)

            answers = await burst([api], shoots(), answered=kill)

            _, _, unknown = split(answers)
            assert len(unknown) <= 50, [answers[name] for name in unknown]  # one for each client
            stored = await assert_kept(api, answers)
            missing = [s for s in shoots() if s["metadata"]["name"] not in stored]
            again, _, still_unknown = split(await burst([api], missing))
            assert (len(stored) + len(again), still_unknown) == (ROOM, set())

        def came_back(found: Numbers) -> bool:
            return all_ready(found) and found['quotaapi_worker_restarts_total{worker="0"}'] == 1

        after = await asyncio.to_thread(numbers_when, server, came_back, 30.0)
        assert victim not in workers(server)
        for name, value in before.items():
            counter = name.partition("{")[0]
            if counter.endswith("_total") and not counter.startswith("quotaapi_worker_"):
                assert after[name] >= value, name
    assert assert_exact(own_etcd_url)["shoots"] == ROOM


@pytest.mark.parametrize("embedded", [True, False], ids=["embedded-etcd", "etcd-servers"])
def test_a_supervisor_that_is_killed_leaves_no_process(
    tmp_path: Path, own_etcd_url: str, embedded: bool
) -> None:
    server = ServerProcess(
        tmp_path / "data", etcd_servers="" if embedded else own_etcd_url, arguments=TWO
    )
    with server:
        numbers_when(server, all_ready, 30.0)
        family = children(server.pid)
        assert len(family) == (3 if embedded else 2)
        ends = Ends(family)

        server.kill9()

        assert ends.wait(30.0) == set(), server.log()
        server.start()
        assert server.request("GET", "quotas").status_code == 200


def test_a_worker_without_descriptors_loses_a_connection_and_never_the_count_of_them(
    tmp_path: Path,
) -> None:
    with ServerProcess(tmp_path / "data", arguments=TWO) as server, ExitStack() as closing:
        numbers_when(server, all_ready, 30.0)
        context = server.ssl_context()
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        family = workers(server)
        for pid in family:
            few = len(list(Path(f"/proc/{pid}/fd").iterdir())) + 2
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (few, limits[1]))
        where = ("127.0.0.1", server.port)
        opened = [closing.enter_context(socket.create_connection(where)) for _ in range(12)]
        opened[-1].settimeout(5.0)
        assert opened[-1].recv(1) == b"", "that one, which no worker has, is closed"
        for pid in family:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        closing.close()
        none_open = (
            'quotaapi_worker_connections{worker="0"}',
            'quotaapi_worker_connections{worker="1"}',
        )
        numbers_when(server, lambda found: sum(found[name] for name in none_open) <= 1, 10.0)
        assert server.request("POST", "namespaces/garden-trial/quotas", a_quota()).ok
        watches = [closing.enter_context(a_watch(server, context)) for _ in range(6)]
        for watch in watches:
            until(watch, b'"ADDED"')

        for pid in workers(server):
            os.kill(pid, signal.SIGKILL)

        for watch in watches:
            watch.settimeout(5.0)
            with suppress(ConnectionError):
                while watch.recv(65536):
                    pass


def test_sigterm_ends_the_watches_of_all_workers_and_every_process(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", arguments=TWO)
    with server, ExitStack() as closing:
        numbers_when(server, all_ready, 30.0)
        assert server.request("POST", "namespaces/garden-trial/quotas", a_quota()).ok
        context = server.ssl_context()
        watches = [closing.enter_context(a_watch(server, context)) for _ in range(4)]
        received = [until(watch, b'"ADDED"') for watch in watches]
        assert numbers(server)["quotaapi_watches_open"] == 4
        for _ in range(4):  # clients that never begin their handshake hold nothing up
            closing.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        ends = Ends(children(server.pid))

        code = server.stop()

        received = [
            start + until(watch, None) for start, watch in zip(received, watches, strict=True)
        ]
    assert code == 0, server.log()
    assert ends.wait(0.0) == set()
    assert all(stream.endswith(b"0\r\n\r\n") for stream in received)
    assert all(b'"type":"BOOKMARK"' in stream for stream in received)
    assert "Traceback" not in server.log()
    assert "is started again" not in server.log()


def a_watch(server: ServerProcess, context: ssl.SSLContext) -> ssl.SSLSocket:
    raw = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    watch = context.wrap_socket(raw, server_hostname="127.0.0.1")
    path = f"{GROUP_PATH}/quotas?watch=1&allowWatchBookmarks=true"
    watch.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return watch


def until(watch: ssl.SSLSocket, part: bytes | None) -> bytes:
    """What comes up to `part`, or up to the end."""
    received = b""
    while part is None or part not in received:
        chunk = watch.recv(65536)
        if not chunk:
            assert part is None, received
            break
        received += chunk
    return received


async def test_what_was_answered_before_sigterm_is_kept_and_the_rest_was_not_begun(
    tmp_path: Path, own_etcd_url: str
) -> None:
    with ServerProcess(tmp_path / "data", etcd_servers=own_etcd_url, arguments=TWO) as server:
        async with server.client() as session:
            await have_quota(Api(session))

            def terminate(count: int) -> None:
                if count == 300:
                    os.kill(server.pid, signal.SIGTERM)

            answers = await burst([Api(session)], shoots(), answered=terminate)
        assert await asyncio.to_thread(server.stop) == 0
        assert_exact(own_etcd_url)

        await asyncio.to_thread(server.start)
        async with server.client() as session:
            await assert_kept(Api(session), answers)


@pytest.mark.parametrize(
    "flags",
    [
        ("--token-auth-file", __file__),
        ("--tls-cert-file", __file__, "--tls-private-key-file", __file__),
    ],
)
def test_where_no_worker_can_start_the_supervisor_ends_with_its_code(
    tmp_path: Path, flags: Sequence[str]
) -> None:
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "quotaapi", "serve", *TWO, "--stand-alone"),
            *("--secure-port", "0", "--data-dir", str(tmp_path / "data"), *flags),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 1
    assert f"{flags[0]} " in ended.stderr
    assert __file__ in ended.stderr
    assert "before any has served" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_port_in_use_is_said_before_anything_is_started(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = subprocess.run(
            [
                *(sys.executable, "-m", "quotaapi", "serve", *TWO, "--stand-alone"),
                *("--secure-port", str(port), "--data-dir", str(tmp_path / "data")),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert ended.returncode == 1
    assert f"127.0.0.1:{port}" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "data").exists()


_IMPATIENT = """
import sys
import time
from quotaapi.__main__ import main
from quotaapi.server import supervisor
supervisor._STARTING_TICKS = 12
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_worker_that_hangs_before_its_first_report_is_started_again(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", arguments=TWO, program=("-c", _IMPATIENT))
    with server:
        numbers_when(server, all_ready, 30.0)
        family = children(server.pid)
        os.kill(workers(server)[0], signal.SIGKILL)
        deadline = time.monotonic() + 10
        # Only once it is a program of its own: until then its parent stands still with it (vfork).
        while not (begun := set(workers(server)) - set(family)):
            assert time.monotonic() < deadline
            time.sleep(0.01)  # another process: there is nothing to wait on
        os.kill(begun.pop(), signal.SIGSTOP)

        def restarts(found: Numbers) -> float:
            return sum(found[f'quotaapi_worker_restarts_total{{worker="{n}"}}'] for n in (0, 1))

        def came_back(found: Numbers) -> bool:
            return all_ready(found) and restarts(found) == 2

        numbers_when(server, came_back, 90.0)
