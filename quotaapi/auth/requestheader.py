"""kube-apiserver's front proxy: it has authenticated the user, and says in headers who it is.

The headers count only on a connection whose client certificate was signed by the requestheader CA
and bears an allowed name. On any other connection they are as if they were not there: the request
is judged by its other credentials, or is anonymous.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from urllib.parse import unquote_to_bytes

from multidict import MultiMapping

from apis.meta import errors
from apis.meta.request import UserInfo
from quotaapi.auth.interface import Credentials, authenticated, is_text


@dataclass(frozen=True, slots=True)
class RequestHeaders:
    """The names that are honoured. `allowed_names` empty: any CN that the CA signed."""

    allowed_names: frozenset[str] = frozenset()
    user: tuple[str, ...] = ()
    uid: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    extra_prefix: tuple[str, ...] = ()


class RequestHeaderAuthenticator:
    def __init__(self, names: Callable[[], RequestHeaders | None]) -> None:
        """`names`: the newest configuration; None while there is none."""
        self._names = names

    async def authenticate(self, credentials: Credentials) -> UserInfo | None:
        """Raises 400 for a name that is no text: nobody can be asked about its rights."""
        proxy = credentials.proxy
        names = self._names() if proxy is not None else None
        if proxy is None or names is None:
            return None
        if names.allowed_names and proxy[0] not in names.allowed_names:
            return None
        headers = credentials.headers
        user = _first(headers, names.user)
        if not user:
            return None
        groups = tuple(_all(headers, names.group))
        extra = _extra(headers, names.extra_prefix)
        uid = _first(headers, names.uid)
        for value in (user, uid, *groups, *chain.from_iterable(extra.values())):
            if not is_text(value):
                raise errors.bad_request("the headers of the front proxy are not valid UTF-8")
        return authenticated(user, groups, uid, extra)


def _first(headers: MultiMapping[str], names: Sequence[str]) -> str:
    """As Go's `Header.Get`: of equal headers the first counts, and where it is empty, the next name."""
    for name in names:
        if values := headers.getall(name, ()):
            value: str = values[0]
            if value:
                return value
    return ""


def _all(headers: MultiMapping[str], names: Sequence[str]) -> list[str]:
    return [value for name in names for value in headers.getall(name, ()) if value]


def _extra(headers: MultiMapping[str], prefixes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Prefix by prefix, so that values under one key keep the order of the prefixes."""
    found: dict[str, tuple[str, ...]] = {}
    for prefix in map(str.lower, prefixes):
        for name, value in headers.items():
            lowered = name.lower()
            if lowered.startswith(prefix):
                key = _unescape(lowered[len(prefix) :])
                found[key] = (*found.get(key, ()), value)
    return found


def _unescape(key: str) -> str:
    """A key that is no proper escape is taken as it is, as in Go."""
    if "%" not in key:
        return key
    parts = key.split("%")[1:]
    if not all(len(part) >= 2 and all(c in "0123456789abcdef" for c in part[:2]) for part in parts):
        return key
    return unquote_to_bytes(key).decode(errors="replace")
