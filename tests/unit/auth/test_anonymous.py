"""Who shows no credentials, and who shows a certificate that nobody vouches for."""

from types import SimpleNamespace
from typing import Any

import pytest

from apis.meta.errors import StatusError
from apis.meta.request import ANONYMOUS
from quotaapi.auth.anonymous import AnonymousAuthenticator


async def authenticated(*, stranger: bool) -> object:
    credentials: Any = SimpleNamespace(stranger=stranger)
    return await AnonymousAuthenticator().authenticate(credentials)


async def test_who_shows_nothing_is_anonymous() -> None:
    assert await authenticated(stranger=False) is ANONYMOUS


async def test_a_certificate_that_nobody_vouches_for_is_a_401() -> None:
    with pytest.raises(StatusError) as refused:
        await authenticated(stranger=True)

    assert refused.value.code == 401
