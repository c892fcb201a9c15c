"""The TLS of the port: certificate, key and client CAs as they are now, for every new handshake.

What listens is one context that hands each handshake to the newest one; open connections keep
what they were opened with. Files are read every few seconds, not followed: volumes of clusters
are swapped by links, which watching misses.
"""

import logging
import ssl
import time
from pathlib import Path
from typing import ClassVar, Final

from quotaapi import tls

_log = logging.getLogger(__name__)


TELL_SECONDS: Final = 60.0
"""Between two lines about handshakes that failed for the same reason."""


class _Connection(ssl.SSLObject):
    """Says why a client's certificate was refused: OpenSSL then ends the connection, and all that
    the client is told is an alert. Whose it was, OpenSSL does not say."""

    told: ClassVar[dict[str, float]] = {}

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except ssl.SSLCertVerificationError as error:
            why, now = error.verify_message, time.monotonic()
            if now - self.told.get(why, -TELL_SECONDS) >= TELL_SECONDS:
                self.told[why] = now
                _log.warning("a client's certificate is refused, its connection ended: %s", why)
            raise


class ServingTls:
    """`context` is for the listener."""

    def __init__(self, cert: Path, key: Path, client_cas: bytes = b"") -> None:
        """`client_cas`: as for `trust`. Raises OSError where the files cannot be used."""
        self._files = cert, key
        self._client_cas = client_cas
        self._pair = tls.ServingPair.read(cert, key)
        self._refused: tls.ServingPair | str | None = None
        try:
            self._newest = tls.server_context(self._pair, client_cas)
        except OSError as error:  # which names neither file
            raise OSError(f"{cert} and {key}: {error}") from error
        self.context = tls.server_context(self._pair, client_cas)
        self.context.sslobject_class = _Connection
        self.context.sni_callback = self._switch

    def trust(self, client_cas: bytes) -> None:
        """Certificates of these (DER) are let in from the next handshake on, and no others.

        Raises OSError for what is no bundle; then nothing changes.
        """
        self._newest = tls.server_context(self._pair, client_cas)
        self._client_cas = client_cas

    def look(self) -> None:
        """Take changed files; while they do not fit together, what they held before is served."""
        found: tls.ServingPair | None = None
        try:
            found = tls.ServingPair.read(*self._files)
            if found == self._pair:
                self._refused = None
                return
            self._newest = tls.server_context(found, self._client_cas)
        except OSError as error:
            refused = found or str(error)
            if refused != self._refused:
                where = " and ".join(str(path) for path in self._files)
                _log.warning("the serving certificate of before is served on: %s: %s", where, error)
            self._refused = refused
            return
        self._pair, self._refused = found, None
        _log.info("certificates were read anew")

    def _switch(
        self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> None:
        """Called in every handshake, with or without a server name, before a certificate is chosen."""
        connection.context = self._newest
