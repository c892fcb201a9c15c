"""A process that forwards as kube-aggregator does: `python -m tests.frontproxy.proxy ARGUMENTS`.

It takes the user from `Test-User` and `Test-Group` headers, as kube-apiserver takes it from its
own authentication, strips what claims to come from a front proxy, and forwards over TLS with its
client certificate. Backends are taken in turn; where one cannot be reached the answer is a 503,
as kube-apiserver's, unless the request had not been sent yet and there is another one.
"""

import argparse
import asyncio
import ssl
from itertools import cycle

import aiohttp
from aiohttp import web
from multidict import CIMultiDict, MultiMapping

_HOP = ("Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Host", "Content-Length")
SERVER_NAME = "quotaapi.quotaapi.svc"


class Proxy:
    def __init__(self, session: aiohttp.ClientSession, backends: list[str]) -> None:
        self._session = session
        self._backends = cycle(backends)
        self._number = len(backends)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        headers = _forwarded(request.headers)
        why = ""
        for _ in range(self._number):
            url = next(self._backends) + request.path_qs
            try:
                return await self._forward(request, url, headers, body)
            except aiohttp.ClientConnectorError as error:
                why = str(error)  # nothing was sent
            except (aiohttp.ClientError, OSError) as error:
                why = f"{type(error).__name__}: {error}"
                break
        return web.Response(status=503, text=f"error trying to reach service: {why}")

    async def _forward(
        self, request: web.BaseRequest, url: str, headers: CIMultiDict[str], body: bytes
    ) -> web.StreamResponse:
        async with self._session.request(
            request.method, url, headers=headers, data=body or None, server_hostname=SERVER_NAME
        ) as found:
            answer = web.StreamResponse(status=found.status)
            for name, value in found.headers.items():
                if name not in _HOP:
                    answer.headers.add(name, value)
            await answer.prepare(request)
            async for chunk in found.content.iter_any():
                await answer.write(chunk)
            await answer.write_eof()
            return answer


def _forwarded(headers: MultiMapping[str]) -> CIMultiDict[str]:
    found: CIMultiDict[str] = CIMultiDict()
    for name, value in headers.items():
        if name == "Test-User":
            found.add("X-Remote-User", value)
        elif name == "Test-Group":
            found.add("X-Remote-Group", value)
        elif not name.lower().startswith("x-remote-") and name.title() not in _HOP:
            found.add(name, value)
    return found


async def _serve(options: argparse.Namespace) -> None:
    context = ssl.create_default_context(cafile=options.ca)
    context.load_cert_chain(options.cert, options.key)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(options.serving_cert, options.serving_key)
    connector = aiohttp.TCPConnector(ssl=context, limit=200)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=3)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        proxy = Proxy(session, options.backends.split(","))
        runner = web.ServerRunner(web.Server(proxy.handle), handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", options.port, ssl_context=serving).start()
        print("ready", flush=True)  # noqa: T201 -- who started it waits for that
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    for name in ("backends", "ca", "cert", "key", "serving-cert", "serving-key"):
        parser.add_argument(f"--{name}", required=True)
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
