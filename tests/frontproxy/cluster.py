"""A stand-in for kube-apiserver, as an extension server sees it: real HTTPS, and faults on demand."""

import asyncio
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from apis.meta.codec import decode_json, encode
from tests.frontproxy.pki import Authority, Pair
from tests.harness.ports import free_port

Object = dict[str, Any]

TOKEN = "quotaapi-token"
CONFIG = "extension-apiserver-authentication"
AGGREGATION = "/apis/apiregistration.k8s.io/v1"
TOKEN_REVIEWS = "tokenreviews"
ACCESS_REVIEWS = "subjectaccessreviews"


class Cluster:
    """Runs in a thread of its own (`with`). Change its attributes as a test needs.

    `tokens`: token -> TokenReview's user. `may`: judges a SubjectAccessReview's spec.
    `applied`: path -> what was applied there. `aggregates`: other servers' APIs. `status`:
    answered to every request where it is not 0. `accepts`: Authorization headers, None: any. While `hold` is set, nothing is answered.
    """

    def __init__(self, authority: Authority) -> None:
        self.port = free_port()
        self.tokens: dict[str, Object] = {}
        self.may: Callable[[Object], bool] = lambda _spec: True
        self.namespaces: dict[str, Object] = {}
        self.secrets: set[tuple[str, str]] = set()
        self.config: dict[str, str] = {}
        self.applied: dict[str, Object] = {}
        self._applied_at: dict[str, str] = {}
        self.aggregates = True
        self.status = 0
        self.accepts: set[str] | None = None
        self.hold = threading.Event()
        self.asked: Counter[str] = Counter()
        self.reviewed: list[Object] = []
        self.credentials: set[str] = set()
        self._pair: Pair = authority.server("kube-apiserver")
        self._version = 1
        self._change = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        # A version and what happened at it change together: tests change them in their own thread.
        self._changing = threading.Lock()
        self._log: list[tuple[int, str, str, Object]] = []
        self._runner: web.ServerRunner | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def add_namespace(
        self, name: str, *, terminating: bool = False, annotations: Mapping[str, str] | None = None
    ) -> None:
        with self._changing:
            metadata: Object = {"name": name, "resourceVersion": self._next()}
            if annotations:
                metadata["annotations"] = dict(annotations)
            if terminating:
                metadata["deletionTimestamp"] = "2024-01-02T03:04:05Z"
            kind = "MODIFIED" if name in self.namespaces else "ADDED"
            self.namespaces[name] = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
            self._tell("namespaces", kind, self.namespaces[name])

    def remove_namespace(self, name: str) -> None:
        with self._changing:
            found = self.namespaces.pop(name)
            found["metadata"]["resourceVersion"] = self._next()
            self._tell("namespaces", "DELETED", found)

    def set_config(self, **data: str) -> None:
        """Keys with underscores for dashes; the rest of the ConfigMap stays."""
        self.config.update({key.replace("_", "-"): value for key, value in data.items()})
        with self._changing:
            self._next()
            self._tell("configmaps", "MODIFIED", self._config_map())

    def __enter__(self) -> "Cluster":
        self._thread.start()
        self.come()
        return self

    def __exit__(self, *_fault: object) -> None:
        self.go()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def come(self) -> None:
        """Listen, on the same port each time."""
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()

    def go(self) -> None:
        """Away: connections end, new ones are refused."""
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()

    def calm(self) -> None:
        """No faults, no memory of what was asked."""
        self.status = 0
        self.hold.clear()
        self.may = lambda _spec: True
        self.asked.clear()
        self.reviewed.clear()

    async def _start(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._pair.cert, self._pair.key)
        self._runner = web.ServerRunner(web.Server(self._answer), handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(
            self._runner, "127.0.0.1", self.port, ssl_context=context, reuse_address=True
        ).start()

    async def _stop(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            self._wake()
            runner._shutdown_timeout = 1.0
            await runner.cleanup()

    def _next(self) -> str:
        self._version += 1
        return str(self._version)

    def _tell(self, what: str, kind: str, obj: Object) -> None:
        self._log.append((self._version, what, kind, obj))
        self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        change, self._change = self._change, asyncio.Event()
        change.set()

    def _config_map(self) -> Object:
        metadata = {
            "name": CONFIG,
            "namespace": "kube-system",
            "resourceVersion": str(self._version),
        }
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": dict(self.config),
        }

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        parts = request.path.strip("/").split("/")
        what = next(
            (p for p in (TOKEN_REVIEWS, ACCESS_REVIEWS, "secrets", "configmaps") if p in parts),
            "namespaces",
        )
        self.asked[what] += 1
        self.credentials.add(request.headers.get("Authorization", ""))
        body = await request.read()
        while self.hold.is_set() and self._runner is not None:  # noqa: ASYNC110 -- a thread sets it
            await asyncio.sleep(0.02)
        if self.accepts is not None and request.headers.get("Authorization") not in self.accepts:
            return _json({"kind": "Status", "message": "Unauthorized", "code": 401}, 401)
        if self.status:
            return _json(
                {"kind": "Status", "message": "fault on demand", "code": self.status}, self.status
            )
        if request.path == AGGREGATION:
            found = {"kind": "APIResourceList", "resources": []}
            return _json(found) if self.aggregates else _missing("page")
        if request.method in ("PATCH", "DELETE") or request.path in self.applied:
            return self._register(request, body)
        if request.query.get("watch") == "true":
            return await self._watch(request, what)
        if what in (TOKEN_REVIEWS, ACCESS_REVIEWS):
            return self._review(what, decode_json(body).value)
        with self._changing:
            return self._get(what, parts)

    def _review(self, what: str, review: Object) -> web.Response:
        spec = review["spec"]
        self.reviewed.append(spec)
        if what == TOKEN_REVIEWS:
            user = self.tokens.get(spec["token"])
            review["status"] = (
                {"authenticated": True, "user": user} if user else {"authenticated": False}
            )
        else:
            review["status"] = {"allowed": self.may(spec)}
        return _json(review, 201)

    def _register(self, request: web.BaseRequest, body: bytes) -> web.Response:
        known = request.path in self.applied
        if request.method == "PATCH":
            assert request.headers["Content-Type"] == "application/apply-patch+yaml"
            obj = decode_json(body).value
            if obj != self.applied.get(request.path):
                self.applied[request.path] = obj
                self._applied_at[request.path] = self._next()
        elif not known:
            return _missing("it is")
        stored = self.applied[request.path]
        version = {"resourceVersion": self._applied_at[request.path]}
        if request.method == "DELETE":
            del self.applied[request.path]
        return _json(
            {**stored, "metadata": {**stored["metadata"], **version}},
            201 if request.method == "PATCH" and not known else 200,
        )

    def _get(self, what: str, parts: list[str]) -> web.Response:
        if what == "configmaps":
            return _json(self._config_map()) if self.config else _missing(what)
        if what == "secrets":
            key = (parts[3], parts[5])
            return (
                _json({"kind": "PartialObjectMetadata"}) if key in self.secrets else _missing(what)
            )
        if len(parts) == 3:
            metadata = {"resourceVersion": str(self._version)}
            return _json(
                {
                    "kind": "NamespaceList",
                    "metadata": metadata,
                    "items": list(self.namespaces.values()),
                }
            )
        found = self.namespaces.get(parts[3])
        return _json(found) if found else _missing(what)

    async def _watch(self, request: web.BaseRequest, what: str) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        since = int(request.query.get("resourceVersion") or 0)
        sent = 0
        while self._runner is not None:
            change = self._change
            news = self._log[sent:]
            sent += len(news)
            for version, kind_of, kind, obj in news:
                if kind_of == what and version > since:
                    await answer.write(encode({"type": kind, "object": obj}) + b"\n")
            await change.wait()
        return answer


def _json(obj: Mapping[str, Any], status: int = 200) -> web.Response:
    return web.Response(status=status, body=encode(obj), content_type="application/json")


def _missing(what: str) -> web.Response:
    return _json({"kind": "Status", "message": f"{what} not found", "code": 404}, 404)
