"""Bearer tokens of a file, in kube-apiserver's format: `token,user,uid,"group1,group2"` a line."""

import csv
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from apis.meta import errors
from apis.meta.request import UserInfo
from quotaapi.auth.interface import Credentials, authenticated, is_text


class TokenFileError(ValueError):
    """A token file that is not what it should be."""


class TokenAuthenticator:
    """Tokens are kept and looked up hashed: how long a look-up takes says nothing about a token."""

    def __init__(self, users: Mapping[bytes, UserInfo], *, known_only: bool = False) -> None:
        """`known_only`: a token that is not of the file may be somebody else's to judge."""
        self._users = users
        self._known_only = known_only

    @classmethod
    def of_file(cls, path: Path, *, known_only: bool = False) -> "TokenAuthenticator":
        """Raises TokenFileError, OSError."""
        with path.open(newline="", encoding="utf-8") as file:
            return cls(_users(file, str(path)), known_only=known_only)

    async def authenticate(self, credentials: Credentials) -> UserInfo | None:
        token = bearer_token(credentials.headers.get("Authorization", ""))
        if not token:
            return None
        user = self._users.get(_digest(token))
        if user is None and not self._known_only:
            raise errors.unauthorized()
        return user


def bearer_token(header: str) -> str:
    """Empty where the header is none of this kind. Raises 401 for a token that is no text."""
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer":
        return ""
    if not is_text(token):
        raise errors.unauthorized()
    return token.strip()


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()


def _users(lines: Iterable[str], path: str) -> Mapping[bytes, UserInfo]:
    users: dict[bytes, UserInfo] = {}
    for number, columns in enumerate(csv.reader(lines), 1):
        if not columns or (len(columns) == 1 and not columns[0].strip()):
            continue
        if len(columns) < 3 or not columns[0] or not columns[1]:
            raise TokenFileError(f'{path}:{number}: expected token,user,uid[,"group1,group2"]')
        token, name, uid, *rest = (column.strip() for column in columns)
        groups = (
            tuple(filter(None, (group.strip() for group in rest[0].split(",")))) if rest else ()
        )
        digest = _digest(token)
        if digest in users:
            raise TokenFileError(f"{path}:{number}: the token is already that of another line")
        users[digest] = authenticated(name, groups, uid)
    return users
