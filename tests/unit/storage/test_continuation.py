"""Continue tokens: what was written is read, and nothing else is."""

from base64 import urlsafe_b64encode

import pytest

from storage.cache.continuation import Continuation, read_token, write_token
from storage.interface import BadContinueToken
from tests.storage_kit import SHOOTS, shoot_key

CONTINUATION = Continuation(17_999, shoot_key("x"))


def _token(text: bytes) -> str:
    return urlsafe_b64encode(text).rstrip(b"=").decode()


def test_a_token_is_read_as_it_was_written() -> None:
    assert read_token(SHOOTS, write_token(SHOOTS, CONTINUATION)) == CONTINUATION


def test_a_token_stays_below_the_prefix_of_the_request_that_carries_it() -> None:
    token = write_token("garden.sapcloud.io/quotas/", CONTINUATION)
    assert read_token(SHOOTS, token).start_after.startswith(SHOOTS)


@pytest.mark.parametrize(
    "token",
    [
        "%%%",
        "é",
        "AAAA",
        "x" * 5_000,
        _token(b"[]"),
        _token(b"{}"),
        _token(b'{"v":2,"rv":17999,"start":"a"}'),
        _token(b'{"v":1,"rv":"17999","start":"a"}'),
        _token(b'{"v":1,"rv":0,"start":"a"}'),
        _token(b'{"v":1,"rv":-1,"start":"a"}'),
        _token(b'{"v":1,"rv":true,"start":"a"}'),
        _token(b'{"v":1,"rv":17999,"start":""}'),
        _token(b'{"v":1,"rv":17999,"start":"a","more":1}'),
        _token(b'{"v":1,"rv":17999,"start":"a"}') + "=",
    ],
)
def test_a_token_that_no_server_wrote_is_refused(token: str) -> None:
    with pytest.raises(BadContinueToken):
        read_token(SHOOTS, token)
