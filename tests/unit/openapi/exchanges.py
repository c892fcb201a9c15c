"""A request to a page, without a socket."""

from collections.abc import Mapping
from datetime import UTC, datetime

from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from quotaapi.endpoints import requestinfo
from quotaapi.endpoints.exchange import Exchange, Handler
from quotaapi.endpoints.longanswer import Outgoing
from quotaapi.registry.heavy import Heavy

NOW = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)


async def get(
    pages: Mapping[str, Handler], target: str, headers: Mapping[str, str] | None = None
) -> web.Response:
    request = make_mocked_request("GET", target, headers=headers)
    info = requestinfo.parse("GET", target)
    heavy = Heavy()
    exchange = Exchange(request, info, "id", lambda: NOW, heavy, Outgoing(heavy.turn))
    answer = await pages[exchange.info.path](exchange)
    assert isinstance(answer, web.Response)
    return answer


def body(answer: web.Response) -> bytes:
    assert isinstance(answer.body, bytes)
    return answer.body
