"""The TLS of the port: certificate, key and client CAs as they are now, for every new handshake.

What listens is one context that hands each handshake to the newest one; open connections keep
what they were opened with. Files are looked at every few seconds, not followed: volumes of
clusters are swapped by links, which watching misses.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from quotaapi import tls

_log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 5.0

Stamp = tuple[tuple[int, int, int] | None, ...]
"""Inode, size and change time of every file."""


@dataclass(frozen=True, slots=True)
class ServingFiles:
    cert: Path
    key: Path
    client_cas: tuple[Path, ...] = ()

    def all(self) -> Sequence[Path]:
        return (self.cert, self.key, *self.client_cas)


class ServingTls:
    """`context` is for the listener. `reloaded` is called after files changed and were taken."""

    def __init__(
        self,
        files: ServingFiles,
        *,
        reloaded: Callable[[], None] = lambda: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Raises OSError where the files cannot be used."""
        self._files = files
        self._reloaded = reloaded
        self._sleep = sleep
        self._more_client_cas = b""
        self._stamp = _stamp(files.all())
        self._newest = self._load()
        self.context = self._load()
        self.context.sni_callback = self._switch

    def trust(self, client_cas: bytes) -> None:
        """These (DER) and those of the files count from the next handshake on.

        Raises OSError for what is no bundle; then nothing changes.
        """
        before, self._more_client_cas = self._more_client_cas, client_cas
        try:
            self._newest = self._load()
        except OSError:
            self._more_client_cas = before
            raise

    async def run(self) -> None:
        while True:
            await self._sleep(LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Take changed files; those that do not fit together yet are tried again next time."""
        stamp = _stamp(self._files.all())
        if stamp == self._stamp:
            return
        try:
            self._newest = self._load()
            self._reloaded()
        except (OSError, ValueError) as error:
            _log.warning("the new certificates cannot be used (yet): %s", error)
            return
        self._stamp = stamp
        _log.info("certificates were read anew")

    def _load(self) -> ssl.SSLContext:
        files = self._files
        return tls.server_context(files.cert, files.key, files.client_cas, self._more_client_cas)

    def _switch(
        self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> None:
        """Called in every handshake, with or without a server name, before a certificate is chosen."""
        connection.context = self._newest


def _stamp(paths: Sequence[Path]) -> Stamp:
    return tuple(_stamp_of(path) for path in paths)


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
