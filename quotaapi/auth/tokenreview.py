"""Bearer tokens, judged by the cluster: TokenReview."""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final

from apis.meta import errors
from apis.meta.request import UserInfo
from quotaapi.auth.asking import Asker
from quotaapi.auth.decisions import HOLDS_SECONDS, Decisions
from quotaapi.auth.interface import Credentials, authenticated
from quotaapi.auth.tokens import bearer_token

PATH: Final = "/apis/authentication.k8s.io/v1/tokenreviews"

TOKENS_KEPT: Final = 4096


class TokenReviewAuthenticator:
    def __init__(
        self, asker: Asker, *, monotonic: Callable[[], float], spawn: Callable[..., object]
    ) -> None:
        self._asker = asker
        self._decisions = Decisions[bytes, UserInfo | None](
            lambda _token: HOLDS_SECONDS,
            size=TOKENS_KEPT,
            monotonic=monotonic,
            spawn=spawn,
        )

    async def authenticate(self, credentials: Credentials) -> UserInfo | None:
        token = bearer_token(credentials.headers.get("Authorization", ""))
        if not token:
            return None
        # Tokens are kept hashed: who reads the memory of a cache finds none that works.
        digest = sha256(token.encode()).digest()
        user = await self._decisions.get(digest, lambda: self._review(token))
        if user is None:
            raise errors.unauthorized()
        return user

    async def _review(self, token: str) -> UserInfo | None:
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        }
        answer = await self._asker.post(PATH, body)
        status = answer.body.get("status") if isinstance(answer.body, Mapping) else None
        if not answer.ok or not isinstance(status, Mapping):
            raise self._asker.useless(answer)
        return _user(status) if status.get("authenticated") is True else None


def _user(status: Mapping[str, Any]) -> UserInfo | None:
    found = status.get("user") or {}
    name = found.get("username", "")
    if not name:
        return None
    extra = {key: tuple(values) for key, values in (found.get("extra") or {}).items()}
    return authenticated(name, tuple(found.get("groups") or ()), found.get("uid", ""), extra)
