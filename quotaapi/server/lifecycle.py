"""Start, serve, stop.

Start: certificates, embedded etcd, storage, the port, and everything in the background. The port is
open before the watch cache is filled: /readyz says so meanwhile.

Stop (SIGTERM, SIGINT), in this order, so that nothing is lost that was begun:

1. /readyz fails; watches end, with a last bookmark; no connection is accepted any more.
2. Running requests get `--shutdown-grace`; writes whose client has left, too.
3. Admission finishes its batches, then what feeds and writes to etcd is cancelled.
4. The connections to etcd are closed, the embedded etcd ends.
"""

import asyncio
import logging
import signal
import ssl
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import uvloop

from quotaapi import __version__, kubeconfig, tls
from quotaapi.auth.tokens import TokenFileError
from quotaapi.config import Config
from quotaapi.server.composition import Phase, Server, Storage, build, build_storage, utc_now
from quotaapi.server.listener import Listener
from storage.etcd.embedded import EmbeddedEtcd, EmbeddedEtcdError

_log = logging.getLogger(__name__)

_ETCD_DIRECTORY = "etcd"


def run(config: Config) -> int:
    """Serve until a signal; the exit code."""
    logging.basicConfig(
        level=config.log_level, format="%(asctime)s %(levelname).1s %(name)s: %(message)s"
    )
    code = 0
    try:
        uvloop.run(_serve(config))
    except* (OSError, TokenFileError, EmbeddedEtcdError) as faults:
        # What the operator can mend needs no trace.
        for fault in _flat(faults):
            _log.error("cannot serve: %s", fault)
        code = 1
    return code


def _flat(group: BaseExceptionGroup[Exception]) -> Sequence[Exception]:
    found: list[Exception] = []
    for error in group.exceptions:
        found += _flat(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


async def _serve(config: Config) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop.set)
    material = tls.ensure(config.data_dir, config.bind_address, utc_now)
    async with AsyncExitStack() as ending:  # ends what is below last
        endpoints, etcd = config.etcd_servers, None
        if config.embedded_etcd:
            etcd = EmbeddedEtcd(config.data_dir / _ETCD_DIRECTORY)
            await etcd.start()
            ending.push_async_callback(etcd.stop)
            endpoints = (etcd.endpoint,)
        storage = build_storage(config, endpoints)
        ending.push_async_callback(storage.client.close)
        if not stop.is_set():
            await _run_server(config, storage, etcd, material, stop)
    _log.info("stopped")


async def _run_server(
    config: Config,
    storage: Storage,
    etcd: EmbeddedEtcd | None,
    material: tls.Material,
    stop: asyncio.Event,
) -> None:
    phase = Phase()
    async with asyncio.TaskGroup() as tasks:
        server = build(config, storage, tasks, phase)
        listener = Listener(server.handler, _tls_context(config, material))
        background = _start(tasks, server, etcd)
        admission = tasks.create_task(server.evaluator.run(), name="admission")
        try:
            port = await listener.start(config.bind_address, config.secure_port)
            _announce(config, material, port)
            await stop.wait()
        finally:
            # Also where a background task failed: what was begun is finished as far as it can be.
            phase.stopping = True
            _log.info("stopping")
            await _finish_requests(server, listener, config.shutdown_grace_seconds)
            server.evaluator.close()
            await asyncio.wait((admission,), timeout=config.admission_timeout_seconds)
            for task in (admission, *background):
                task.cancel()


def _start(
    tasks: asyncio.TaskGroup, server: Server, etcd: EmbeddedEtcd | None
) -> list["asyncio.Task[None]"]:
    storage = server.storage
    running: dict[str, Coroutine[Any, Any, None]] = {
        "group commit": storage.group_commit.run(),
        "reflector": storage.stack.reflector.run(),
        "compaction": storage.compaction.run(),
        "etcd probe": server.probe.run(),
        "lifetime": server.lifetime.run(),
    }
    if etcd is not None:
        running["embedded etcd"] = etcd.run()
    return [tasks.create_task(coroutine, name=name) for name, coroutine in running.items()]


async def _finish_requests(server: Server, listener: Listener, grace_seconds: float) -> None:
    server.watches.end()
    await listener.stop(grace_seconds)
    if not await server.mutations.wait_idle(grace_seconds):
        _log.warning("%d writes are still running and are cut off", server.mutations.running)


def _tls_context(config: Config, material: tls.Material) -> ssl.SSLContext:
    cert, key = material.server_cert, material.server_key
    if config.tls_cert_file is not None and config.tls_private_key_file is not None:
        cert, key = config.tls_cert_file, config.tls_private_key_file
    client_cas = [material.ca_cert]
    if config.client_ca_file is not None:
        client_cas.append(config.client_ca_file)
    return tls.server_context(cert, key, client_cas)


def _announce(config: Config, material: tls.Material, port: int) -> None:
    address = config.bind_address
    url = f"https://{f'[{address}]' if ':' in address else address}:{port}"
    directory = config.data_dir.resolve()
    admin = directory / "admin.kubeconfig"
    kubeconfig.write(admin, url, material)
    _log.warning("stand-alone: namespaces and secrets are unknown here and are not checked")
    _log.warning("stand-alone: every authenticated user may do everything")
    etcd = "an etcd of its own" if config.embedded_etcd else ", ".join(config.etcd_servers)
    print(  # noqa: T201 -- for the person who started it
        f"quotaapi {__version__} serves {url} over {etcd}\n"
        f"  kubectl --kubeconfig {admin} api-resources\n"
        f"  {_curl(directory)} {url}/apis/garden.sapcloud.io/v1beta1",
        flush=True,
    )


def _curl(directory: Path) -> str:
    files = {"cacert": "ca.crt", "cert": "admin.crt", "key": "admin.key"}
    return " ".join(["curl", *(f"--{flag} {directory / name}" for flag, name in files.items())])
