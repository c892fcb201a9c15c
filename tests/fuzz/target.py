"""The server that garbage is sent to, and what must hold after each request."""

import re
import ssl
from typing import Final

import requests

from apis.meta import codec
from apis.meta.transaction import Object
from tests.builders import a_binding, a_profile, a_quota, a_shoot, an_object
from tests.fuzz.wire import Answer, Wire, request
from tests.harness.api import path_of
from tests.harness.server import GROUP_PATH, ServerProcess

SEED: Final[tuple[Object, ...]] = (
    a_profile(),
    a_quota(metrics={"cpu": "20", "memory": "1Ti"}, days=30),
    a_quota(name="share", scope="project", metrics={"shoots": "9"}),
    a_binding(quotas=["quota", "share"]),
    a_binding(kind="PrivateSecretBinding", name="own"),
    a_binding(kind="SecretBinding", name="either", quotas=["quota"]),
    an_object(
        "ShootLimitRange",
        name="limits",
        namespace="garden-dev",
        spec={"limits": [{"type": "Shoot", "max": {"cpu": "100"}}]},
    ),
    a_shoot(),
)

_REFUSALS: Final = (501, 505)
"""A transfer coding, or a version of HTTP, that the server does not speak."""

_UNAVAILABLE: Final = re.compile(r"Timeout: Too large resource version: .*")
"""The 504 that is right: no server has the version yet."""


class Target:
    def __init__(self, server: ServerProcess, etcd_url: str, context: ssl.SSLContext) -> None:
        self.server = server
        self.wire = Wire(server.port, context)
        self._etcd_url = etcd_url
        self._etcd = requests.Session()
        self._etcd.trust_env = False
        self._log_seen = 0

    def close(self) -> None:
        self.wire.close()
        self._etcd.close()

    def seed(self) -> None:
        """Have what requests may be about; what is there stays as it is."""
        for obj in SEED:
            path, body = f"{GROUP_PATH}/{path_of(obj)}", codec.encode(obj)
            answer = self.wire.send(request("POST", path, JSON, body), method="POST")
            assert answer is not None
            assert answer.status in (201, 409, 403, 422), answer

    def revision(self) -> int:
        """etcd's: it moves with every write, whatever is written."""
        answer = self._etcd.post(f"{self._etcd_url}/v3/kv/range", json={"key": "AA=="}, timeout=10)
        return int(answer.json()["header"]["revision"])

    def judge(
        self, answer: Answer | None, before: int, *, reads: bool, of_many: bool = False
    ) -> None:
        """`reads`: what was asked for changes nothing even where it succeeds. `of_many`: a collection
        was to be deleted, where the first object that cannot go does not bring back those before it.

        A connection that is closed without an answer is for the caller to judge.
        """
        if answer is not None:
            self._no_fault(answer)
        partly = of_many and not reads and answer is not None and answer.status == 409
        if not partly and (reads or answer is None or answer.status >= 400):
            assert self.revision() == before, (answer, "the store moved")
        self.assert_quiet()

    def _no_fault(self, answer: Answer) -> None:
        """No 500, ever: a client's mistake is none, and the server is to make none of its own."""
        if answer.status < 500 or answer.status in _REFUSALS:
            return
        assert answer.status == 504, answer
        if answer.body:  # not a HEAD's
            message = str(answer.value.get("message", ""))
            assert _UNAVAILABLE.fullmatch(message), answer

    def assert_quiet(self) -> None:
        """The log tells of no fault."""
        log = self.server.log()
        new, self._log_seen = log[self._log_seen :], len(log)
        assert "Traceback" not in new, new
        assert not re.search(r"^\S+ \S+ [EC] ", new, re.MULTILINE), new

    def assert_alive(self) -> None:
        answer = self.wire.send(request("GET", "/readyz"))
        assert answer is not None
        assert answer.status == 200, answer


JSON: Final = (("Content-Type", "application/json"),)
