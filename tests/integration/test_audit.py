"""`quotaapi audit` on a real etcd: what it finds, and where it begins and ends."""

import asyncio
import base64
import itertools
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.builders import a_binding, a_profile, a_quota, a_shoot
from tests.harness.api import Api, path_of
from tests.harness.etcd import assert_exact, counters, running_etcd
from tests.harness.ports import free_port
from tests.harness.server import ROOT, ServerProcess

QUOTA_KEY = "/registry/garden.sapcloud.io/quotas/garden-trial/quota"


def audit(etcd_url: str, *arguments: str) -> tuple[int, str]:
    return run("--etcd-servers", etcd_url, *arguments)


def audit_data(directory: Path) -> tuple[int, str]:
    return run("--data-dir", str(directory))


def run(*arguments: str) -> tuple[int, str]:
    """The exit code, and all that was printed."""
    done = subprocess.run(
        [sys.executable, "-m", "quotaapi", "audit", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def etcd(url: str, method: str, **body: Any) -> dict[str, Any]:
    with requests.Session() as session:
        session.trust_env = False
        answer = session.post(f"{url}/v3/kv/{method}", json=body, timeout=10)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def test_an_installation_is_audited_while_clients_work(
    tmp_path: Path, own_etcd_url: str
) -> None:
    """Again and again, each time from where the one before ended."""
    with ServerProcess(tmp_path / "one", etcd_servers=own_etcd_url) as server:
        async with server.client() as session:
            api = Api(session)
            await have_shoots(api, 1)
            stop = asyncio.Event()

            async def client(name: str) -> None:
                while not stop.is_set():
                    assert (await api.create(a_shoot(name=name))).status == 201
                    assert (await api.delete("Shoot", "garden-dev", name)).status == 200

            spans: list[tuple[int, int]] = []
            async with asyncio.TaskGroup() as clients:
                for number in range(4):
                    clients.create_task(client(f"busy-{number}"))
                for _ in range(3):
                    since = ("--from-revision", str(spans[-1][1])) if spans else ()
                    found = await asyncio.to_thread(assert_exact, own_etcd_url, *since)
                    spans.append((found["firstRevision"], found["lastRevision"]))
                stop.set()

    assert all(first < last for first, last in spans)
    assert all(later[0] == earlier[1] for earlier, later in itertools.pairwise(spans))
    assert assert_exact(own_etcd_url)["shoots"] == 1


async def have_shoots(api: Api, count: int) -> None:
    await api.have(
        a_profile(),
        a_quota(name="quota", metrics={"cpu": "100"}),
        a_binding(name="binding", quotas=["quota"]),
        *(a_shoot(name=f"shoot-{n}") for n in range(count)),
    )


async def test_an_account_that_somebody_spoilt_is_told_with_its_revision_and_numbers(
    api: Api, etcd_url: str
) -> None:
    await have_shoots(api, 1)
    value = etcd(etcd_url, "range", key=b64(QUOTA_KEY))["kvs"][0]["value"]
    await api.have(a_shoot(name="another"))
    etcd(etcd_url, "put", key=b64(QUOTA_KEY), value=value)
    spoilt = counters(etcd_url).revision

    code, text = audit(etcd_url)

    assert code == 1
    assert f"revision {spoilt}: garden.sapcloud.io/quotas/garden-trial/quota: charge:" in text
    assert "cpu=4" in text
    assert "cpu=2" in text
    assert audit(etcd_url, "--to-revision", str(spoilt - 1))[0] == 0


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An etcd with some history, its server gone."""
    directory = tmp_path_factory.mktemp("filled")
    with running_etcd(directory / "etcd") as process:
        with ServerProcess(directory / "server", etcd_servers=process.endpoint) as server:
            for obj in (
                a_profile(),
                a_quota(name="quota", metrics={"cpu": "100"}),
                a_binding(name="binding", quotas=["quota"]),
                *(a_shoot(name=f"shoot-{n}") for n in range(5)),
            ):
                assert server.request("POST", path_of(obj), obj).status_code == 201
        yield process.endpoint


def test_a_history_that_was_compacted_is_read_from_where_it_begins(filled: str) -> None:
    newest = counters(filled).revision
    etcd(filled, "compaction", revision=str(newest - 2))

    statistics = assert_exact(filled)

    assert (statistics["firstRevision"], statistics["lastRevision"]) == (newest - 2, newest)
    code, text = audit(filled, "--from-revision", "1")
    assert (code, f"the oldest that etcd has is {newest - 2}" in text) == (2, True), text
    code, text = audit(filled, "--to-revision", str(newest + 1))
    assert (code, f"the newest is {newest}" in text) == (2, True), text


def test_a_prefix_under_which_nothing_lies_is_no_verdict(filled: str) -> None:
    code, text = audit(filled, "--etcd-prefix", "/registrie")

    assert (code, f"/registrie in {filled}: " in text) == (2, True), text
    assert "nothing lies there" in text


@pytest.mark.parametrize(
    "options",
    [
        ("--etcd-cafile", "/absent.pem"),
        ("--etcd-cafile", __file__),
        ("--etcd-certfile", __file__, "--etcd-keyfile", __file__),
        ("--etcd-certfile", __file__),
    ],
)
def test_files_that_cannot_be_used_are_no_verdict(filled: str, options: Sequence[str]) -> None:
    code, text = audit(filled, *options)

    assert (code, len(text.splitlines())) == (2, 1), text
    assert options[1] in text or "belong together" in text


def test_what_others_keep_in_the_same_etcd_is_passed_over(filled: str) -> None:
    for number in range(3):
        etcd(filled, "put", key=b64(f"/others/{number}"), value=b64("x"))

    code, text = audit(filled)

    assert code == 0, text
    assert text.startswith("exact: ")


def test_an_etcd_that_is_not_there_is_no_verdict() -> None:
    code, text = audit(f"http://127.0.0.1:{free_port()}")

    assert code == 2
    assert "Traceback" not in text


def test_the_data_of_an_embedded_etcd_is_audited_while_its_server_runs_and_afterwards(
    tmp_path: Path,
) -> None:
    with ServerProcess(tmp_path / "data") as server:
        quota = a_quota()
        assert server.request("POST", path_of(quota), quota).status_code == 201
        running = audit_data(tmp_path / "data")
    afterwards = audit_data(tmp_path / "data")

    for code, text in (running, afterwards):
        assert (code, "1 quotas" in text) == (0, True), text


def test_a_directory_without_data_is_no_verdict(tmp_path: Path) -> None:
    code, text = audit_data(tmp_path)

    assert (code, "no server has had an etcd of its own" in text) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_nor_is_a_directory_whose_etcd_never_began(tmp_path: Path) -> None:
    (tmp_path / "etcd").mkdir()

    code, text = audit_data(tmp_path)

    assert (code, "no server has had an etcd of its own" in text) == (2, True)
    assert list((tmp_path / "etcd").iterdir()) == []
