"""The client: endpoints, failures, refusals, TLS."""

import asyncio
import socket
import warnings
from pathlib import Path

import pytest

from apis.meta.transaction import TooLarge, Unavailable
from storage.etcd import wire
from storage.etcd.client import Client, tls_context
from storage.etcd.refusals import Unanswered
from storage.interface import Expired
from tests.contract.stacks import etcd_stack
from tests.etcd_process import BINARIES, EtcdProcess
from tests.harness.ports import free_port
from tests.integration.etcd.certificates import make_certificates
from tests.integration.etcd.helpers import create
from tests.tcp_proxy import tcp_proxy

pytestmark = pytest.mark.integration

READ = wire.encode(wire.range_request(b"x"))
RANGE = "/kv/range"


async def test_construction_asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(socket.socket, "connect", None)
        client = Client([f"http://127.0.0.1:{free_port()}"])
    with pytest.raises(Unavailable):
        await client.ask(RANGE, READ)
    await client.close()


async def test_a_client_made_before_its_etcd_works_once_etcd_is_there(
    etcd_process: EtcdProcess,
) -> None:
    async with tcp_proxy(etcd_process.port) as proxy:
        await proxy.refuse()
        client = Client([proxy.endpoint])
        with pytest.raises(Unavailable):
            await client.ask(RANGE, READ)
        await proxy.listen()
        assert wire.revision_of(await client.ask(RANGE, READ)) > 0
        await client.close()


async def test_reads_and_writes_go_to_the_next_endpoint_when_one_refuses(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    gone = f"http://127.0.0.1:{free_port()}"
    async with etcd_stack(gone, etcd_process.endpoint, prefix=prefix) as stack:
        committed = await stack.commits.commit(create("a"))
        assert (await stack.store.read(["a"]))[0] == committed.revision
        statistics = stack.client.statistics()
        assert (statistics.failures, statistics.endpoints_aside) == (1, 1)


async def test_an_endpoint_that_failed_is_asked_again_after_a_while(
    etcd_process: EtcdProcess,
) -> None:
    now = [0.0]
    async with tcp_proxy(etcd_process.port) as one, tcp_proxy(etcd_process.port) as two:
        client = Client([one.endpoint, two.endpoint], aside_seconds=5, clock=lambda: now[0])
        await one.refuse()
        await client.ask(RANGE, READ)
        await one.listen()
        await client.ask(RANGE, READ)
        assert one.connections == 0
        now[0] = 6.0
        await client.ask(RANGE, READ)
        assert one.connections == 1
        await client.close()


async def test_when_every_endpoint_is_set_aside_they_are_tried_all_the_same(
    etcd_process: EtcdProcess,
) -> None:
    async with tcp_proxy(etcd_process.port) as one, tcp_proxy(etcd_process.port) as two:
        client = Client([one.endpoint, two.endpoint])
        await one.refuse()
        await two.refuse()
        with pytest.raises(Unavailable):
            await client.ask(RANGE, READ)
        await two.listen()
        await client.ask(RANGE, READ)
        await client.close()


async def test_a_read_without_answer_is_asked_elsewhere_a_write_is_not(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    put = b'{"key":"%b","value":""}' % wire.b64(prefix.encode())
    async with tcp_proxy(etcd_process.port) as one:
        client = Client([one.endpoint, etcd_process.endpoint])
        one.lose_answer_to(b"/kv/range")
        await client.ask(RANGE, READ)
        await client.close()
        client = Client([one.endpoint, etcd_process.endpoint])
        one.lose_answer_to(b"/kv/put")
        with pytest.raises(Unanswered):
            await client.call("/kv/put", put)
        await client.close()


async def test_a_call_that_takes_too_long_is_unanswered(etcd_process: EtcdProcess) -> None:
    async with tcp_proxy(etcd_process.port) as proxy:
        client = Client([proxy.endpoint])
        await client.ask(RANGE, READ)
        proxy.stall()
        with pytest.raises(Unanswered):
            await client.call(RANGE, READ, timeout_seconds=0.1)
        await client.close()


async def test_refusals_mean_what_they_say(etcd_process: EtcdProcess) -> None:
    client = Client([etcd_process.endpoint])
    many = [{"request_range": wire.range_request(b"%d" % n)} for n in range(129)]
    with pytest.raises(TooLarge):
        await client.call("/kv/txn", wire.encode({"success": many}))
    with pytest.raises(Unavailable, match="404"):
        await client.call("/no/such/method", b"{}")
    revision = wire.revision_of(await client.ask(RANGE, READ))
    put = wire.encode({"key": wire.b64(b"x").decode()})
    await client.call("/kv/put", put)
    compaction = wire.encode({"revision": str(revision + 1)})
    await client.call("/kv/compaction", compaction)
    with pytest.raises(Expired):
        await client.call("/kv/compaction", compaction)
    await client.close()


async def test_a_server_that_is_no_etcd_is_unavailable_and_named() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 503 Nope\r\nContent-Length: 5\r\nConnection: close\r\n\r\nsorry")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    client = Client([f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"])
    with pytest.raises(Unavailable, match="503: sorry"):
        await client.ask(RANGE, READ)
    await client.close()
    server.close()


async def test_concurrent_askers_of_the_revision_share_requests(
    etcd_process: EtcdProcess, prefix: str
) -> None:
    async with etcd_stack(etcd_process.endpoint, prefix=prefix) as stack:
        before = stack.client.statistics().calls
        revisions = await asyncio.gather(*[stack.store.current_revision() for _ in range(100)])
        assert stack.client.statistics().calls - before == 2
        assert min(revisions) > 0


@pytest.mark.parametrize("with_client_certificate", [False, True])
async def test_tls_by_ca_alone_and_with_a_client_certificate(
    tmp_path: Path, with_client_certificate: bool
) -> None:
    certificates = tmp_path / "certificates"
    make_certificates(certificates)
    etcd = TlsEtcd(tmp_path / "etcd", certificates, with_client_certificate)
    ca = str(certificates / "ca.crt")
    pair = {
        "cert_file": str(certificates / "client.crt"),
        "key_file": str(certificates / "client.key"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tls = tls_context(ca_file=ca, **(pair if with_client_certificate else {}))
    client = Client([etcd.url], tls=tls)
    distrusting = Client([etcd.url])
    try:
        await asyncio.to_thread(etcd.launch)
        async with asyncio.timeout(20):
            while True:
                try:
                    await client.ask(RANGE, READ)
                    break
                except Unavailable:
                    await asyncio.sleep(0.05)
        with pytest.raises(Unavailable, match="certificate verify failed"):
            await distrusting.ask(RANGE, READ)
    finally:
        await client.close()
        await distrusting.close()
        etcd.stop()


class TlsEtcd(EtcdProcess):
    def __init__(self, directory: Path, certificates: Path, ask_clients: bool) -> None:
        port = free_port()
        self.url = f"https://127.0.0.1:{port}"
        arguments = [
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--cert-file={certificates / 'server.crt'}",
            f"--key-file={certificates / 'server.key'}",
        ]
        if ask_clients:
            arguments += ["--client-cert-auth", f"--trusted-ca-file={certificates / 'ca.crt'}"]
        binary = next(iter(BINARIES.values()))
        super().__init__(directory, binary=binary, arguments=tuple(arguments))
