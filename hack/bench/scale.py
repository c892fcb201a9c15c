"""How much is measured: everything, or just enough to see that the measuring works."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Fixed loads. Durations are seconds (wrk takes whole ones), the others are counts."""

    rounds: int
    warm_up: int
    seconds: int
    connections: tuple[int, ...]
    populations: tuple[int, ...]
    """Shoots on the quota, from none upwards."""
    listed: int
    crowd: int
    """Shoots of the LIST that must not stall others."""
    lists: int
    gets_per_second: int
    watchers: int
    events_per_second: int
    starts: int
    bursts: int
    ledgers: tuple[int, ...]
    """Bindings, and quotas, among which admission's requests are spread."""
    admissions: int


FULL = Scale(
    rounds=3,
    warm_up=2,
    seconds=8,
    connections=(1, 20, 100),
    populations=(0, 5_000, 20_000),
    listed=5_000,
    crowd=50_000,
    lists=20,
    gets_per_second=100,
    watchers=1_000,
    events_per_second=200,
    starts=3,
    bursts=10,
    ledgers=(1, 100, 1_000),
    admissions=20_000,
)

SHORT = Scale(
    rounds=1,
    warm_up=1,
    seconds=2,
    connections=(8,),
    populations=(0, 100),
    listed=100,
    crowd=100,
    lists=2,
    gets_per_second=20,
    watchers=10,
    events_per_second=20,
    starts=1,
    bursts=1,
    ledgers=(1, 10),
    admissions=200,
)
