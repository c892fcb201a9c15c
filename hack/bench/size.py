"""Memory, and the time from the start of the process until `/readyz` is true."""

import socket
import ssl
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Final

from hack.bench import elsewhere, plots
from hack.bench.installation import Bench, Installation, installation
from hack.bench.processes import resident_mb
from hack.bench.report import Report, Verdict, picture, table
from tests.harness.server import READY_SECONDS

NAME = "size"

_POLL_SECONDS: Final = 0.01
_SETTLE_SECONDS: Final = 1.0
"""After which a server that has just become ready is at rest."""

_UNVERIFIED: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Its certificate may not be made yet, and nothing is asked but whether it is ready."""
_UNVERIFIED.check_hostname = False
_UNVERIFIED.verify_mode = ssl.CERT_NONE


@dataclass(frozen=True, slots=True)
class Row:
    """One start. `first`: in an empty data directory, so that certificates are made, too."""

    shoots: int
    first: bool
    ready_seconds: float
    resident_mb: float


def measure(bench: Bench) -> list[dict[str, Any]]:
    rows = []
    for shoots in (0, bench.scale.populations[-1]):
        for _ in range(bench.scale.starts):
            with installation(bench.populations.data(shoots), start=False) as made:
                for first in (True, False):
                    seconds = _start(made)
                    time.sleep(_SETTLE_SECONDS)
                    row = Row(shoots, first, seconds, resident_mb(made.server.pid))
                    bench.say(
                        f"{shoots:6} shoots: ready after {seconds:.2f} s, {row.resident_mb:.0f} MB"
                    )
                    rows.append(asdict(row))
                    made.server.stop()
    return rows


def _start(made: Installation) -> float:
    begin = time.perf_counter()
    made.server.launch()
    while not _is_ready(made.server.port):
        if time.perf_counter() - begin > READY_SECONDS:
            raise RuntimeError(f"not ready; its log:\n{made.server.log()}")
        time.sleep(_POLL_SECONDS)
    return time.perf_counter() - begin


def _is_ready(port: int) -> bool:
    """Asked with as little work as can be: the server starts on the same cores."""
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=2) as plain,
            _UNVERIFIED.wrap_socket(plain) as secured,
        ):
            secured.sendall(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            return secured.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def report(results: Sequence[dict[str, Any]]) -> Report:
    rows = [Row(**row) for row in results]
    populations = sorted({row.shoots for row in rows})

    def ready(shoots: int, *, first: bool) -> float:
        return median(
            row.ready_seconds for row in rows if (row.shoots, row.first) == (shoots, first)
        )

    resident = {
        shoots: median(row.resident_mb for row in rows if row.shoots == shoots)
        for shoots in populations
    }
    lines = [
        [
            f"{shoots:,}",
            f"{plots.number(resident[shoots])} MB",
            f"{ready(shoots, first=True):.2f} s",
            f"{ready(shoots, first=False):.2f} s",
        ]
        for shoots in populations
    ]
    heading = ("shoots", "RSS", "ready, first start", "ready, later starts")
    lines.append([f"*{elsewhere.NAME}*", f"*{elsewhere.RESIDENT_MB:.0f} MB*", "", ""])
    chart = plots.Chart(
        "Resident memory",
        "MB",
        [*(f"{shoots:,} shoots" for shoots in populations), elsewhere.NAME],
        [
            plots.Series("quotaapi", [*(resident[shoots] for shoots in populations), None]),
            plots.Series(elsewhere.NAME, [*(None for _ in populations), elsewhere.RESIDENT_MB], 2),
        ],
        targets=[120.0, 250.0, None],
    )
    text = table(heading, lines) + "\n\n" + picture("size.svg", "Resident memory")
    most = populations[-1]
    verdicts = [
        Verdict("RSS when empty", 120, resident[0], "MB", at_most=True),
        Verdict(f"RSS with {most:,} shoots", 250, resident[most], "MB", at_most=True),
        Verdict(
            "`/readyz` true after the start, empty, certificates to be made",
            1, ready(0, first=True), "s", at_most=True,
        ),
        Verdict(
            f"`/readyz` true after the start, {most:,} shoots",
            3, max(ready(most, first=True), ready(most, first=False)), "s", at_most=True,
        ),
    ]  # fmt: skip
    return Report(text, verdicts, {"size.svg": plots.bars(chart)})
