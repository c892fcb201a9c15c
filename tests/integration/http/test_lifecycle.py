"""A server process: how it starts, what it leaves, how it ends."""

import socket
import subprocess
import sys

import pytest

from apis.meta import codec
from tests.builders import a_quota
from tests.harness.server import GROUP_PATH, ROOT, ServerProcess

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
