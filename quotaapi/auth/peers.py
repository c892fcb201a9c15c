"""Whose certificate a connection was opened with, and which authorities vouch for it."""

import logging
import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from weakref import WeakKeyDictionary

from aiohttp import web

from apis.meta.values import valueclass
from quotaapi.trust import Authorities, Refused

_log = logging.getLogger(__name__)

_MAX_TOLD: Final = 1000
"""Certificates whose refusal is remembered as told."""

Subject = tuple[str, tuple[str, ...]]
"""(CN, every O)."""


@valueclass
class Peer:
    """The same subject, twice at most: as what the certificate counts.

    `client`: a client CA signed it, it is a user's. `proxy`: the requestheader CA signed it; its
    CN may be one that speaks for others. One certificate can be both only where an operator
    trusts one CA for both. `stranger`: it showed a certificate that counts as neither.
    """

    client: Subject | None = None
    proxy: Subject | None = None
    stranger: bool = False


NOBODY = Peer()


def subject_of(certificate: Mapping[str, Any]) -> Subject:
    """(CN, every O) of a certificate as Python's ssl shows it. The last CN counts, as in Go."""
    name, groups = "", []
    for relative_name in certificate.get("subject", ()):
        for key, value in relative_name:
            if key == "commonName":
                name = value
            elif key == "organizationName":
                groups.append(value)
    return name, tuple(groups)


@valueclass
class _Known:
    """What was found out under one `generation` of the bundles; it holds until `until`."""

    peer: Peer
    generation: int
    until: datetime


_FOR_EVER = datetime.max.replace(tzinfo=UTC)


class Peers:
    """Identifies the peers of connections; each is judged once, and again when the bundles change."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._client = Authorities()
        self._proxy = Authorities()
        self._generation = 0
        self._told: set[int] = set()
        self._known: WeakKeyDictionary[ssl.SSLObject, _Known] = WeakKeyDictionary()

    def trust(self, *, client: Authorities, proxy: Authorities) -> None:
        """From now on these count, for open connections too."""
        self._client, self._proxy = client, proxy
        self._generation += 1

    def of_request(self, request: web.BaseRequest) -> Peer:
        transport = request.transport
        connection = transport.get_extra_info("ssl_object") if transport is not None else None
        return self.identify(connection) if connection is not None else NOBODY

    def identify(self, connection: ssl.SSLObject) -> Peer:
        """`connection`: TLS has verified the peer's certificate, where it has one."""
        known = self._known.get(connection)
        now = self._clock()
        if known is not None and known.generation == self._generation and now < known.until:
            return known.peer
        known = self._judge(connection, now)
        self._known[connection] = known
        return known.peer

    def _judge(self, connection: ssl.SSLObject, now: datetime) -> _Known:
        certificate = connection.getpeercert()
        if not certificate:
            return _Known(NOBODY, self._generation, _FOR_EVER)
        subject, chain = subject_of(certificate), _sent_chain(connection)
        client, why_no_client = _verify(self._client, chain, now)
        proxy, why_no_proxy = _verify(self._proxy, chain, now)
        stranger = client is None and proxy is None
        if stranger:
            self._tell(chain, subject, f"{why_no_client}; as a front proxy's: {why_no_proxy}")
        peer = Peer(subject if client else None, subject if proxy else None, stranger)
        # What is not vouched for stays so under these bundles, unless it begins to be valid later.
        return _Known(peer, self._generation, min(client or _FOR_EVER, proxy or _FOR_EVER))

    def _tell(self, chain: list[bytes], subject: Subject, why: str) -> None:
        """Once for each certificate."""
        if len(self._told) >= _MAX_TOLD:
            self._told.clear()
        told = hash(tuple(chain[:1]))
        if told not in self._told:
            self._told.add(told)
            _log.warning("the certificate of CN %r makes nobody known: %s", subject[0], why)


def _verify(
    authorities: Authorities, chain: list[bytes], now: datetime
) -> tuple[datetime | None, str]:
    """Until when they vouch for it; else why they do not."""
    try:
        return authorities.verify(chain, now), ""
    except Refused as error:
        return None, str(error)


def _sent_chain(connection: ssl.SSLObject) -> list[bytes]:
    """DER of the leaf and of what was sent with it.

    Python before 3.13 shows the rest of the chain to nobody but its own tests; a chain that
    cannot be seen is judged by its leaf alone, which refuses rather than admits.
    """
    leaf = connection.getpeercert(binary_form=True)
    if leaf is None:
        return []
    public = getattr(connection, "get_unverified_chain", None)
    if public is not None:
        sent: list[bytes] = public()
    else:
        inner = getattr(connection, "_sslobj", None)
        look = getattr(inner, "get_unverified_chain", None)
        der = 2  # _ssl.ENCODING_DER
        sent = [certificate.public_bytes(der) for certificate in (look() or ())] if look else []
    return [leaf, *(certificate for certificate in sent if certificate != leaf)]
