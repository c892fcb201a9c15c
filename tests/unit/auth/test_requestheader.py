"""The front proxy's headers."""

import pytest
from multidict import CIMultiDict

from apis.meta.errors import StatusError
from apis.meta.request import UserInfo
from quotaapi.auth.requestheader import RequestHeaderAuthenticator, RequestHeaders

NAMES = RequestHeaders(
    allowed_names=frozenset({"front-proxy-client"}),
    user=("X-Remote-User", "X-User"),
    uid=("X-Remote-Uid",),
    group=("X-Remote-Group", "X-Group"),
    extra_prefix=("X-Remote-Extra-", "X-Extra-"),
)


class Credentials:
    subject = None
    stranger = False

    def __init__(self, headers, proxy=("front-proxy-client", ())) -> None:
        self.headers = CIMultiDict(headers)
        self.proxy = proxy


async def user_of(headers, proxy=("front-proxy-client", ()), names=NAMES) -> UserInfo | None:
    authenticator = RequestHeaderAuthenticator(lambda: names)
    return await authenticator.authenticate(Credentials(headers, proxy))


@pytest.mark.parametrize("name", ["X-Remote-User", "X-Group", "X-Remote-Uid", "X-Extra-Scopes"])
async def test_what_is_no_utf_8_is_a_bad_request(name) -> None:
    """Bytes that are none arrive as lone surrogates; no JSON can ask about them."""
    with pytest.raises(StatusError) as caught:
        await user_of([("X-User", "a"), (name, b"\xff".decode(errors="surrogateescape"))])

    assert caught.value.code == 400


async def test_a_header_that_is_none_of_the_proxys_may_be_anything() -> None:
    odd = b"\xff".decode(errors="surrogateescape")

    assert await user_of([("X-User", "a"), ("X-Other", odd)]) is not None


async def test_the_first_configured_name_with_a_value_counts() -> None:
    user = await user_of([("X-User", "bob"), ("X-Remote-User", "")])

    assert user == UserInfo("bob", ("system:authenticated",))


async def test_groups_of_all_names_are_put_together_in_the_order_of_the_names() -> None:
    user = await user_of(
        [("X-Remote-User", "a"), ("X-Group", "three"), ("X-Remote-Group", "one"),
         ("x-remote-group", "two")]
    )  # fmt: skip

    assert user is not None
    assert user.groups == ("one", "two", "three", "system:authenticated")


async def test_the_uid_is_taken_where_a_name_for_it_is_configured() -> None:
    user = await user_of([("X-Remote-User", "a"), ("X-Remote-Uid", "u")])

    assert user is not None
    assert user.uid == "u"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("X-Remote-Extra-Scopes", "scopes"),
        ("x-EXTRA-Scopes", "scopes"),
        ("X-Remote-Extra-Example.org%2FScopes", "example.org/scopes"),
        ("X-Remote-Extra-50%", "50%"),
        ("X-Remote-Extra-A%2Gb", "a%2gb"),
    ],
)
async def test_extra_keys_are_lowered_and_unescaped(name, key) -> None:
    user = await user_of([("X-Remote-User", "a"), (name, "v"), (name, "w")])

    assert user is not None
    assert user.extra == {key: ("v", "w")}


@pytest.mark.parametrize(
    ("proxy", "names"),
    [
        (None, NAMES),
        (("somebody", ()), NAMES),
        (("", ()), NAMES),
        (("front-proxy-client", ()), None),
    ],
)
async def test_from_anybody_else_the_headers_are_not_there(proxy, names) -> None:
    assert await user_of([("X-Remote-User", "root")], proxy, names) is None


async def test_without_a_user_the_proxy_speaks_for_nobody() -> None:
    assert await user_of([("X-Remote-Group", "system:masters")]) is None


async def test_somebody_who_is_unauthenticated_stays_so() -> None:
    user = await user_of(
        [("X-Remote-User", "system:anonymous"), ("X-Remote-Group", "system:unauthenticated")]
    )

    assert user == UserInfo("system:anonymous", ("system:unauthenticated",))
