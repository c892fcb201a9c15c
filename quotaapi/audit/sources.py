"""Where an audit reads: a given etcd, or the one in a data directory."""

import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from quotaapi.audit.history import Unreadable
from storage.etcd.client import Client
from storage.etcd.embedded import EmbeddedEtcd, EmbeddedEtcdError, running_endpoint
from storage.etcd.store import EtcdStore
from storage.interface import Backend


@asynccontextmanager
async def open_backend(
    endpoints: Sequence[str], *, prefix: str = "/registry", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Backend]:
    client = Client(endpoints, tls=tls)
    try:
        yield EtcdStore(client, prefix=prefix)
    finally:
        await client.close()


@asynccontextmanager
async def embedded_endpoint(data_dir: Path) -> AsyncIterator[str]:
    """The etcd of the server that runs on `data_dir`; where none runs, one for the time of the block.

    Raises Unreadable.
    """
    directory = (data_dir / "etcd").absolute()
    if (running := running_endpoint(directory)) is not None:
        yield running
        return
    if not (directory / "etcd" / "member").is_dir():
        raise Unreadable(f"no server has had an etcd of its own in {data_dir}")
    etcd = EmbeddedEtcd(directory)
    try:
        await etcd.start()
    except EmbeddedEtcdError as error:
        raise Unreadable(str(error)) from error
    try:
        yield etcd.endpoint
    finally:
        await etcd.stop()
