"""PATCH of one object, or of its status: what the media type of the body makes of it."""

from collections.abc import Callable, Mapping
from typing import Final

from aiohttp import web

from apis.meta import errors, fields
from apis.meta.patch import Patch, parse_json_patch, parse_merge_patch
from quotaapi.endpoints import query, respond, shapes
from quotaapi.endpoints.api import Api
from quotaapi.endpoints.exchange import Exchange, read_body
from quotaapi.endpoints.negotiation import accepted, body_type
from quotaapi.registry.rest import Rest

PARSERS: Final[Mapping[str, Callable[[bytes], Patch]]] = {
    "application/json-patch+json": parse_json_patch,
    "application/merge-patch+json": parse_merge_patch,
}
"""Media type -> what reads the patch; the order is that of the message which lists them."""

_NO_DEFAULT: Final = "none"


async def patch(api: Api, rest: Rest, exchange: Exchange) -> web.StreamResponse:
    info = exchange.info
    representation = accepted(exchange.header("Accept"))
    media_type = body_type(exchange.header("Content-Type"), tuple(PARSERS), _NO_DEFAULT)
    data = await read_body(exchange.request)
    options = query.patch_options(info.query)
    parsed = PARSERS[media_type](data)
    repeated = [f'duplicate field "{path}"' for path in parsed.duplicates]
    if repeated and options.field_validation == "Strict":
        raise _refused(data, repeated)
    written = await api.mutations.run(
        rest.patch(
            exchange.user,
            info.namespace,
            info.name,
            parsed.apply,
            options,
            subresource=info.subresource,
        )
    )
    status = 201 if written.created else 200
    answer = shapes.one(exchange, rest.resource, written, representation, status=status)
    if options.field_validation == "Ignore":
        repeated = []
    respond.add_warnings(answer, [*repeated, *written.warnings])
    return answer


def _refused(data: bytes, faults: list[str]) -> errors.StatusError:
    why = f"strict decoding error: {', '.join(faults)}"
    shown = data.decode(errors="replace")
    return errors.invalid("", "", "", [fields.invalid("patch", shown, why)])
