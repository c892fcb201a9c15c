"""Request bodies: bytes to objects, and what kube-apiserver says where they are none."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from apis.meta import codec, errors
from apis.meta.codec import Decoded
from apis.meta.structure import ABSENT
from quotaapi.endpoints.exchange import Exchange, read_body
from quotaapi.endpoints.negotiation import JSON, MEDIA_TYPES, YAML, body_type
from quotaapi.registry.heavy import LARGE_BYTES

T = TypeVar("T")

_DECODERS: Final[Mapping[str, Callable[[bytes], Decoded]]] = {
    JSON: codec.decode_json,
    YAML: codec.decode_yaml,
}
_SHOWN_BYTES: Final = 30
_TYPE_META: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)


async def read_object(exchange: Exchange, kind: str) -> Decoded:
    """The object of a create or update; a mapping for certain. Raises 400, 413, 415."""
    media_type = body_type(exchange.header("Content-Type"), MEDIA_TYPES)
    data = await read_body(exchange)
    try:
        decoded = await decode(exchange, _DECODERS[media_type], data)
    except codec.DecodeError as error:
        raise _unrecognized(kind, f"json parse error: {error}", data) from None
    if isinstance(decoded.value, dict):
        return decoded
    if decoded.value is None:
        why = f"Object 'Kind' is missing in '{_text(data)}' ({_summary(data)})"
        raise errors.unrecognized(kind, why)
    found = codec.json_type(decoded.value)
    why = f"json: cannot unmarshal {found} into Go value of type {_TYPE_META}"
    raise _unrecognized(kind, f"json parse error: {why}", data)


async def decode(exchange: Exchange, decoder: Callable[[bytes], T], data: bytes) -> T:
    """`decoder(data)`, in a thread where it may take long. Raises 429 where too much waits."""
    size = len(data)
    # A few aliases may stand for a megabyte.
    is_large = size >= LARGE_BYTES or (decoder is codec.decode_yaml and b"&" in data)
    if not is_large:
        return decoder(data)
    return await exchange.heavy.begin(size, decoder, data)


async def read_options(exchange: Exchange) -> Any:
    """The body of a delete, decoded; ABSENT where there is none, as mostly. Raises 400, 413, 415."""
    data = await read_body(exchange)
    if not data:
        return ABSENT
    media_type = body_type(exchange.header("Content-Type"), MEDIA_TYPES)
    try:
        return (await decode(exchange, _DECODERS[media_type], data)).value
    except codec.DecodeError as error:
        raise errors.bad_request(f"couldn't get version/kind; json parse error: {error}") from None


def _unrecognized(kind: str, why: str, data: bytes) -> errors.StatusError:
    return errors.unrecognized(kind, f"couldn't get version/kind; {why} ({_summary(data)})")


def _summary(data: bytes) -> str:
    """The beginning of a body as kube-apiserver shows it: text where it looks like JSON, else hex."""
    if not data:
        return "<empty>"
    shown = data[:_SHOWN_BYTES]
    text = _text(shown) if data[:1] == b"{" else shown.hex()
    return f"{text} ..." if len(data) > _SHOWN_BYTES else text


def _text(data: bytes) -> str:
    return data[:_SHOWN_BYTES].decode(errors="replace")
