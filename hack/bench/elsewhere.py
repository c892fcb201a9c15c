"""kube-apiserver's figures for the same work, measured on another machine like this one.

kube-apiserver 1.36, two cores shared by etcd, server and wrk; the Shoot as a custom resource under a
ResourceQuota of object count. None: not recorded.
"""

from dataclasses import dataclass

NAME = "kube-apiserver, elsewhere"


@dataclass(frozen=True, slots=True)
class Creates:
    """At one number of connections, under a quota."""

    lowest: float
    highest: float
    p50_ms: float | None

    @property
    def per_second(self) -> float:
        return (self.lowest + self.highest) / 2


CREATES = {
    1: Creates(78, 78, 11.6),
    20: Creates(224, 252, None),
    100: Creates(224, 252, 407),
}
PROPOSALS_PER_CREATE = 1.04
QUOTA_RATIO_AT_ONE = 0.49
GETS_PER_SECOND = 889.0
"""At 50 connections."""
LISTED = 4_451
LIST_MB = 12.4
LIST_MS = (420.0, 1500.0)
RESIDENT_MB = 870.0
UPDATES_BEFORE, CONFLICTS_BEFORE = 22, 12
UPDATES_AFTER, CONFLICTS_AFTER = 15, 0
"""As the comment in its quota controller tells what its look-aside cache has brought."""


def create_lines() -> list[list[str]]:
    """For the table of creates."""
    lines = []
    for connections, found in CREATES.items():
        rate = f"{found.lowest:.0f}"
        if found.highest > found.lowest:
            rate += f" to {found.highest:.0f}"
        p50 = f"{found.p50_ms:g}" if found.p50_ms is not None else ""
        share = f"{QUOTA_RATIO_AT_ONE}" if connections == 1 else ""
        label = f"{NAME}: {connections}, one quota"
        cells = [label, rate, p50, "", share, f"{PROPOSALS_PER_CREATE}"]
        lines.append([*(f"*{cell}*" if cell else "" for cell in cells), "", "", ""])
    return lines
