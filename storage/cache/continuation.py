"""Continue tokens: where a paginated list goes on. Pure.

A token is base64 (URL alphabet, no padding) of the JSON `{"v": 1, "rv": version, "start": rest}`:
the version that all pages are at, and the last key handed out, without the list's prefix. It holds
no secret and grants nothing: whatever `start` says, the read stays below the prefix of the
request that carries it.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

from apis.meta.codec import DecodeError, decode_json, encode
from storage.interface import BadContinueToken

FORMAT = 1
LONGEST = 2048
"""Characters; names and namespaces are below 254 each."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """Go on after `start_after` (a whole key), as of `version`."""

    version: int
    start_after: str


def write_token(prefix: str, continuation: Continuation) -> str:
    start = continuation.start_after.removeprefix(prefix)
    token = encode({"v": FORMAT, "rv": continuation.version, "start": start})
    return urlsafe_b64encode(token).rstrip(b"=").decode()


def read_token(prefix: str, token: str) -> Continuation:
    """Raises BadContinueToken for anything that `write_token` does not write."""
    if len(token) > LONGEST:
        raise BadContinueToken("continue key is too long")
    try:
        raw = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
        fields = decode_json(raw).value
    except (UnicodeEncodeError, binascii.Error, DecodeError) as error:
        raise BadContinueToken("continue key is not valid") from error
    match fields:
        case {"v": int(form), "rv": int(version), "start": str(start)} if (
            form == FORMAT and version > 0 and start and len(fields) == len(("v", "rv", "start"))
        ):
            # int(): JSON's true passes for an integer; written again it is not the same token.
            continuation = Continuation(int(version), prefix + start)
        case _:
            raise BadContinueToken("continue key is not valid")
    if write_token(prefix, continuation) != token:
        raise BadContinueToken("continue key is not valid")
    return continuation
