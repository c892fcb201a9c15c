"""Nobody but its own user reaches the embedded etcd, neither as a client nor as a peer."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.integration.etcd.helpers import ENVIRONMENT, ENVIRONMENTS, embedded

pytestmark = pytest.mark.integration

NOBODY = 65534


async def test_its_directory_and_its_sockets_are_for_its_user_alone(tmp_path: Path) -> None:
    async with embedded(tmp_path / "data", ENVIRONMENT):
        assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
        sockets = [path for path in (tmp_path / "data").iterdir() if path.is_socket()]
        assert sorted(path.name for path in sockets) == ["client.sock:0", "peer.sock:0"]
        assert [path.stat().st_mode & 0o077 for path in sockets] == [0, 0]


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
async def test_it_opens_no_port(tmp_path: Path, environment: dict[str, str]) -> None:
    with socket.socket() as control:
        control.bind(("127.0.0.1", 0))
        control.listen()
        assert listening(os.getpid())
    async with embedded(tmp_path, environment) as etcd:
        assert etcd.pid is not None
        assert not listening(etcd.pid)


def listening(pid: int) -> set[str]:
    """The TCP sockets of a process on which it accepts connections, by inode."""
    listen = "0A"
    tables = [Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    waiting = {f"socket:[{row[9]}]" for row in rows if row[3] == listen}
    links = list(Path(f"/proc/{pid}/fd").iterdir())
    assert links
    return waiting & {os.readlink(link) for link in links if link.is_symlink()}


REACH = """
import os, socket, sys
uid, *paths = sys.argv[1:]
os.setgroups([])
os.setgid(int(uid))
os.setuid(int(uid))
for path in paths:
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(path)
            print("connected")
        except OSError as error:
            print(type(error).__name__)
"""


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A directory that every user may enter, as pytest's own are not."""
    with TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may act as another user")
@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
@pytest.mark.parametrize("directory_mode", [0o700, 0o777], ids=["closed", "opened by mistake"])
async def test_another_user_reaches_neither_clients_nor_peers_socket(
    everybodys: Path, environment: dict[str, str], directory_mode: int
) -> None:
    data = everybodys / "data"
    async with embedded(data, environment):
        os.chmod(data, directory_mode)
        sockets = [str(data / "client.sock:0"), str(data / "peer.sock:0")]
        assert await as_user(NOBODY, sockets) == ["PermissionError", "PermissionError"]
        assert await as_user(0, sockets) == ["connected", "connected"]


async def as_user(uid: int, paths: list[str]) -> list[str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", REACH, str(uid), *paths), stdout=subprocess.PIPE
    )
    said, _ = await process.communicate()
    return said.decode().split()
