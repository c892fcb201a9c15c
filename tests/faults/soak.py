"""`hack/soak`: every scenario, in random order, for as long as is asked."""

import argparse
import asyncio
import random
import sys
import time
import traceback

from tests.faults.rig import Bounds
from tests.faults.scenarios import SCENARIOS

SCENARIO_SECONDS = 1800
"""A scenario that takes longer hangs, which is a violation, too."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("hack/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None, help="default: another each time")
    parser.add_argument(
        "--only", choices=sorted(SCENARIOS), action="append", help="may be repeated"
    )
    parser.add_argument("--clients", type=int, default=24)
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    return _soak(options.only or sorted(SCENARIOS), seed, options.minutes * 60, options.clients)


def _soak(names: list[str], seed: int, seconds: float, clients: int) -> int:
    """The exit code. Each round runs every scenario once, while there is time."""
    rng = random.Random(seed)
    until = time.monotonic() + seconds
    broken: list[str] = []
    runs = 0
    order: list[str] = []
    while time.monotonic() < until:
        order = order or rng.sample(names, len(names))
        name = order.pop()
        bounds = Bounds(
            rounds=rng.randint(2, 6),
            pause_seconds=rng.choice([1.0, 3.0, 7.5]),
            clients=rng.choice([4, clients // 2, clients]),
            seed=rng.randrange(1 << 30),
            say=lambda text: print(f"  {text}", flush=True),
        )
        print(
            f"{name}: rounds {bounds.rounds}, pause {bounds.pause_seconds:g} s, "
            f"clients {bounds.clients}, seed {bounds.seed}",
            flush=True,
        )
        runs += 1
        started = time.monotonic()
        try:
            asyncio.run(asyncio.wait_for(SCENARIOS[name](bounds), SCENARIO_SECONDS))
        except Exception:  # noqa: BLE001 -- it is told, and the other scenarios go on
            broken.append(f"{name} (seed {bounds.seed})")
            traceback.print_exc(file=sys.stdout)
        verdict = "BROKEN" if broken and broken[-1].endswith(f"{bounds.seed})") else "kept"
        print(f"{name}: {verdict}, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{runs} scenarios, {len(broken)} broken: {', '.join(broken) or 'none'}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
