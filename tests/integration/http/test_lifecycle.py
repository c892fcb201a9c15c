"""A server process: how it starts, what it leaves, how it ends."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from apis.meta import codec
from quotaapi import tls
from quotaapi.server.composition import utc_now
from tests.builders import a_quota
from tests.harness.server import GROUP_PATH, READY_SECONDS, ROOT, ServerProcess

pytestmark = pytest.mark.integration

QUOTAS = "namespaces/garden-trial/quotas"


def test_sigterm_ends_open_watches_and_the_process_cleanly_and_what_was_stored_stays(
    tmp_path,
) -> None:
    server = ServerProcess(tmp_path / "data")
    with server:
        made = server.request("POST", QUOTAS, a_quota(name="kept"))
        assert made.status_code == 201, made.text
        context = server.ssl_context()
        with (
            socket.create_connection(("127.0.0.1", server.port)) as raw,
            context.wrap_socket(raw, server_hostname="127.0.0.1") as watch,
        ):
            watch.settimeout(20)
            watch.sendall(
                f"GET {GROUP_PATH}/quotas?watch=1&allowWatchBookmarks=true HTTP/1.1\r\n"
                "Host: x\r\n\r\n".encode()
            )
            received = b""
            while b'"ADDED"' not in received:
                received += watch.recv(65536)

            code = server.stop()

            while chunk := watch.recv(65536):
                received += chunk
        assert code == 0, server.log()
        assert b'"type":"BOOKMARK"' in received
        assert received.endswith(b"0\r\n\r\n")
        assert "Traceback" not in server.log()
        certificate = (tmp_path / "data" / "ca.crt").read_bytes()

        server.start()

        assert (tmp_path / "data" / "ca.crt").read_bytes() == certificate
        assert server.request("GET", f"{QUOTAS}/kept").status_code == 200


@pytest.fixture
def hang_up_counts() -> Iterator[None]:
    """Also where these tests are run under nohup, which has SIGHUP ignored, by children too."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hang_up_counts")
def test_the_end_of_its_terminal_ends_it_cleanly(tmp_path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        code = server.end(signal.SIGHUP)

        assert (code, "stopped" in server.log()) == (0, True), server.log()


def test_the_printed_lines_can_be_pasted_whatever_the_directory_is_called(tmp_path) -> None:
    with ServerProcess(tmp_path / "a directory's name") as server:
        curl = next(line for line in server.log().splitlines() if line.startswith("  curl "))

        done = subprocess.run(["sh", "-c", curl], capture_output=True, timeout=20, check=False)

        assert b"APIResourceList" in done.stdout, done.stderr


def test_a_given_certificate_is_what_the_printed_lines_trust(tmp_path) -> None:
    made = tls.ensure(tmp_path / "elsewhere", "127.0.0.1", utc_now)
    pair = (
        "--tls-cert-file",
        str(made.server_cert),
        "--tls-private-key-file",
        str(made.server_key),
    )
    server = ServerProcess(tmp_path / "data", arguments=pair)
    server.launch()
    try:
        deadline = time.monotonic() + READY_SECONDS
        while "  curl " not in server.log():
            assert time.monotonic() < deadline, server.log()
            time.sleep(0.05)  # another process: there is nothing to wait on
        curl = next(line for line in server.log().splitlines() if line.startswith("  curl "))

        done = subprocess.run(["sh", "-c", curl], capture_output=True, timeout=20, check=False)
    finally:
        server.stop()

    assert b"APIResourceList" in done.stdout, done.stderr


def test_every_request_is_logged_where_that_is_asked_for(tmp_path) -> None:
    with ServerProcess(tmp_path / "data", arguments=("--v", "3")) as server:
        server.request("GET", f"{QUOTAS}?limit=7", headers={"User-Agent": 'an "agent"'})
        server.request("GET", f"{QUOTAS}/absent%0Aforged")
        server.stop()
        lines = [line for line in server.log().splitlines() if "quotaapi.http: " in line]

    listed, absent = (line for line in lines if "/readyz" not in line)
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z I quotaapi\.http: HTTP ", listed)
    assert 'verb="LIST"' in listed
    assert f'URI="{GROUP_PATH}/{QUOTAS}?limit=7"' in listed
    assert 'user="admin"' in listed
    assert r'userAgent="an \"agent\""' in listed
    assert listed.endswith("resp=200")
    assert absent.endswith("resp=404")


def test_the_start_tells_how_to_reach_it_and_what_is_not_checked(tmp_path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        log = server.log()
        config = codec.decode_yaml((tmp_path / "data" / "admin.kubeconfig").read_bytes()).value

        assert "kubectl --kubeconfig" in log
        assert "curl --cacert" in log
        assert "namespaces and secrets are unknown here and are not checked" in log
        assert config["clusters"][0]["cluster"]["server"] == server.url


def test_a_port_in_use_is_an_error_that_names_it_without_a_trace(tmp_path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = subprocess.run(
            [sys.executable, "-m", "quotaapi", "serve", "--secure-port", str(port), "--data-dir", tmp_path / "data"],
            cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    assert ended.returncode == 1
    assert "cannot serve: " in ended.stderr
    assert f"127.0.0.1:{port}" in ended.stderr
    assert "Traceback" not in ended.stderr
