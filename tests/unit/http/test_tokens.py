"""The token file."""

import pytest
from multidict import CIMultiDict

from apis.meta.errors import StatusError
from apis.meta.request import UserInfo
from quotaapi.auth.tokens import TokenAuthenticator, TokenFileError


class Bearer:
    subject = None
    proxy = None
    stranger = False

    def __init__(self, header: str) -> None:
        self.headers = CIMultiDict({"Authorization": header} if header else {})


def authenticator(tmp_path, text: str) -> TokenAuthenticator:
    path = tmp_path / "tokens.csv"
    path.write_text(text)
    return TokenAuthenticator.of_file(path)


async def test_a_token_names_its_user_uid_and_groups(tmp_path) -> None:
    tokens = authenticator(tmp_path, 'secret,alice,uid-1,"dev,ops"\n\nother,bob,uid-2\n')

    assert await tokens.authenticate(Bearer("Bearer secret")) == UserInfo(
        "alice", ("dev", "ops", "system:authenticated"), "uid-1"
    )
    assert await tokens.authenticate(Bearer("bearer other")) == UserInfo(
        "bob", ("system:authenticated",), "uid-2"
    )


@pytest.mark.parametrize("header", ["", "Basic c2VjcmV0", "Bearer "])
async def test_a_request_without_a_token_is_nobody_of_ours(tmp_path, header) -> None:
    tokens = authenticator(tmp_path, "secret,alice,uid\n")

    assert await tokens.authenticate(Bearer(header)) is None


@pytest.mark.parametrize("token", ["wrong", "secre", "secret2", "\udcff"])
async def test_a_wrong_token_is_a_401(tmp_path, token) -> None:
    tokens = authenticator(tmp_path, "secret,alice,uid\n")

    with pytest.raises(StatusError) as refusal:
        await tokens.authenticate(Bearer(f"Bearer {token}"))

    assert refusal.value.code == 401


@pytest.mark.parametrize("text", ["secret\n", "secret,alice\n", ",alice,uid\n", "t,a,1\nt,b,2\n"])
def test_a_malformed_file_is_refused(tmp_path, text) -> None:
    with pytest.raises(TokenFileError):
        authenticator(tmp_path, text)
