"""PATCH of one object, or of its status: what the media type of the body makes of it."""

from collections.abc import Callable, Mapping
from typing import Final

from aiohttp import web

from apis.meta import codec, errors, fields
from apis.meta.patch import Patch, parse_json_patch, parse_merge_patch
from apis.meta.resource import Resource
from apis.meta.strategicmerge import parse_strategic_merge_patch
from quotaapi.endpoints import query, respond, shapes
from quotaapi.endpoints.api import Api
from quotaapi.endpoints.bodies import decode
from quotaapi.endpoints.exchange import Exchange, read_body
from quotaapi.endpoints.negotiation import Representation, accepted, body_type
from quotaapi.registry.options import Written
from quotaapi.registry.rest import Rest

APPLY: Final = "application/apply-patch+yaml"

PARSERS: Final[Mapping[str, Callable[[bytes, Resource], Patch]]] = {
    "application/json-patch+json": lambda data, _resource: parse_json_patch(data),
    "application/merge-patch+json": lambda data, _resource: parse_merge_patch(data),
    "application/strategic-merge-patch+json": parse_strategic_merge_patch,
}
"""Media type -> what reads the patch; the order is that of the message which lists them."""

MEDIA_TYPES: Final = (*PARSERS, APPLY)

_NO_DEFAULT: Final = "none"


async def patch(api: Api, rest: Rest, exchange: Exchange) -> web.StreamResponse:
    media_type = body_type(exchange.header("Content-Type"), MEDIA_TYPES, _NO_DEFAULT)
    representation = accepted(exchange.header("Accept"))
    data = await read_body(exchange)
    if media_type == APPLY:
        return await _apply(api, rest, exchange, representation, data)
    info = exchange.info
    options = query.patch_options(info.query, exchange.header("User-Agent"))
    parse = PARSERS[media_type]
    parsed = await decode(exchange, lambda data: parse(data, rest.resource), data)
    repeated = [f'duplicate field "{path}"' for path in parsed.duplicates]
    if repeated and options.field_validation == "Strict":
        raise _refused(data, repeated)
    shapes.check_answer(exchange, representation)
    written = await api.mutations.run(
        rest.patch(
            exchange.user,
            info.namespace,
            info.name,
            parsed.apply,
            options,
            subresource=info.subresource,
            size=parsed.size,
        )
    )
    if options.field_validation == "Ignore":
        repeated = []
    return await _answer(rest, exchange, representation, written, repeated)


async def _apply(
    api: Api, rest: Rest, exchange: Exchange, representation: Representation, data: bytes
) -> web.StreamResponse:
    info = exchange.info
    options = query.apply_options(info.query)
    try:
        config = await decode(exchange, codec.decode_yaml, data)
    except codec.DecodeError as error:
        raise errors.bad_request(f"error decoding YAML: {error}") from None
    shapes.check_answer(exchange, representation)
    written = await api.mutations.run(
        rest.apply(
            exchange.user,
            info.namespace,
            info.name,
            config,
            options,
            subresource=info.subresource,
        )
    )
    return await _answer(rest, exchange, representation, written, [])


async def _answer(
    rest: Rest,
    exchange: Exchange,
    representation: Representation,
    written: Written,
    warnings: list[str],
) -> web.StreamResponse:
    status = 201 if written.created else 200
    answer = await shapes.one(exchange, rest.resource, written, representation, status=status)
    respond.add_warnings(answer, [*warnings, *written.warnings])
    return answer


def _refused(data: bytes, faults: list[str]) -> errors.StatusError:
    why = f"strict decoding error: {', '.join(faults)}"
    shown = data.decode(errors="replace")
    return errors.invalid("", "", "", [fields.invalid("patch", shown, why)])
