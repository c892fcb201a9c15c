"""Many watchers in one process of their own: `python -m hack.bench.watch_client`, driven by pipes.

Reads one JSON line of settings, connects, prints `ready`, and ends when every watcher has every
event; or, once its input has ended, when nothing arrives any more. Then it prints one JSON line: how
many events arrived, and how long after being sent, for a sample of the watchers: to parse what
every one of them gets would cost more than to serve it.
"""

import re
import selectors
import ssl
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from apis.meta.codec import decode_json, encode
from hack.bench.raw import Address, head

MARK = b'"bench/sent":"'
_SENT = re.compile(MARK + rb'(\d+)"')
_TAIL = 64
"""Bytes kept of what was read: more than a mark with its number."""
_SAMPLED = 20
"""One watcher in so many is looked at closely."""
_READ = 1 << 16
_QUIET_SECONDS = 3.0
"""Silence after the last write that means that nothing more will come."""


@dataclass(slots=True)
class Watcher:
    socket: ssl.SSLSocket
    sampled: bool
    events: int = 0
    tail: bytes = b""
    delays_ms: list[float] = field(default_factory=list)

    def drain(self) -> int:
        """Read all that is there; the number of events that it held."""
        before = self.events
        while True:
            try:
                data = self.socket.recv(_READ)
            except ssl.SSLWantReadError:
                return self.events - before
            if not data:
                raise ConnectionError("a watch ended")
            self._take(data)

    def _take(self, data: bytes) -> None:
        seen = self.tail + data
        if not self.sampled:
            self.events += seen.count(MARK)
            # What is kept must not hold a whole mark, or it would be counted again.
            self.tail = seen[-len(MARK) + 1 :]
            return
        now, end = time.monotonic_ns(), 0
        for found in _SENT.finditer(seen):
            self.delays_ms.append((now - int(found[1])) / 1e6)
            self.events += 1
            end = found.end()
        self.tail = seen[max(end, len(seen) - _TAIL) :]


def main() -> None:
    settings = decode_json(sys.stdin.buffer.readline()).value
    address = Address(settings["port"], Path(settings["authority"]))
    request = head("GET", settings["path"])
    watchers = [
        _connect(address, request, sampled=number % _SAMPLED == 0)
        for number in range(settings["watchers"])
    ]
    print("ready", flush=True)
    _watch(watchers, settings["events"] * len(watchers))
    result = {
        "events": sum(watcher.events for watcher in watchers),
        "sampled": sum(watcher.sampled for watcher in watchers),
        "delays_ms": [round(ms, 2) for watcher in watchers for ms in watcher.delays_ms],
    }
    sys.stdout.buffer.write(encode(result) + b"\n")


def _connect(address: Address, request: bytes, *, sampled: bool) -> Watcher:
    """A watch that has begun: its answer's headers are there."""
    socket = address.connect()
    socket.sendall(request)
    begin = b""
    while b"\r\n\r\n" not in begin:
        begin += socket.recv(_READ)
    if not begin.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(begin.decode(errors="replace"))
    socket.setblocking(False)
    return Watcher(socket, sampled)


def _watch(watchers: list[Watcher], expected: int) -> None:
    arrived, quiet = 0, None
    with selectors.DefaultSelector() as selector:
        selector.register(sys.stdin, selectors.EVENT_READ)
        for watcher in watchers:
            selector.register(watcher.socket, selectors.EVENT_READ, watcher)
        while arrived < expected and (ready := selector.select(quiet)):
            for key, _ in ready:
                if key.data is not None:
                    arrived += key.data.drain()
                    continue
                selector.unregister(sys.stdin)
                quiet = _QUIET_SECONDS


if __name__ == "__main__":
    main()
