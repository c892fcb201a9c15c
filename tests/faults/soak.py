"""`hack/soak`: faults and masses under load, one scenario after another.

--minutes: every scenario at random sizes, in random order, for as long as is asked. --full: every
scenario once, at the size at which an installation must stand; it takes about two hours.
"""

import argparse
import asyncio
import dataclasses
import random
import sys
import time
import traceback
from collections.abc import Iterator, Mapping

from tests.faults.rig import Bounds
from tests.faults.scenarios import FULL, LONG, SCENARIOS

SCENARIO_SECONDS = 1800
"""A scenario of random sizes that takes longer hangs, which is a violation, too."""
FULL_SECONDS = 4 * 3600

Planned = tuple[str, Bounds]

SIZES = {each.name: each.type for each in dataclasses.fields(Bounds) if each.name != "say"}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        "hack/soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, default=10, help="default 10")
    length.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=None, help="default: another each time")
    parser.add_argument(
        "--only", choices=sorted(SCENARIOS), action="append", help="may be repeated"
    )
    parser.add_argument(
        "--size",
        metavar="NAME=NUMBER",
        type=_size,
        action="append",
        default=[],
        help=f"another size than the planned one, e.g. writes=300000: {', '.join(SIZES)}",
    )
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    names = options.only or sorted(SCENARIOS)
    rng = random.Random(seed)
    if options.full:
        planned = ((name, dataclasses.replace(FULL.get(name, LONG), seed=seed)) for name in names)
        return _soak(planned, dict(options.size), FULL_SECONDS)
    return _soak(_at_random(names, rng, options.minutes * 60), dict(options.size), SCENARIO_SECONDS)


def _size(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    if name not in SIZES:
        raise argparse.ArgumentTypeError(f"{name}: one of {', '.join(SIZES)}")
    try:
        return name, int(number) if SIZES[name] is int else float(number)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER") from None


def _at_random(names: list[str], rng: random.Random, seconds: float) -> Iterator[Planned]:
    """Every scenario once, then every one again, while there is time."""
    until = time.monotonic() + seconds
    order: list[str] = []
    while time.monotonic() < until:
        order = order or rng.sample(names, len(names))
        rounds = rng.randint(2, 6)
        clients = rng.choice([4, 12, 24])
        yield (
            order.pop(),
            Bounds(
                rounds=rounds,
                pause_seconds=rng.choice([1.0, 3.0, 7.5]),
                clients=clients,
                watchers=clients * 3 + 4,
                projects=5 * rounds,
                shoots=10 * rounds,
                writes=2_000 * rounds,
                connections=500 * rounds,
                seed=rng.randrange(1 << 30),
            ),
        )


def _soak(planned: Iterator[Planned], sizes: Mapping[str, float], seconds: float) -> int:
    """The exit code."""
    broken: list[str] = []
    runs = 0
    for name, plan in planned:
        bounds = dataclasses.replace(
            plan,
            say=lambda text: print(f"  {text}", flush=True),
            **sizes,  # type: ignore[arg-type]  # numbers; `say` is none of them
        )
        shown = dataclasses.asdict(bounds)
        del shown["say"]
        print(f"{name}: {', '.join(f'{what} {size}' for what, size in shown.items())}", flush=True)
        runs += 1
        started = time.monotonic()
        verdict = "kept"
        try:
            asyncio.run(asyncio.wait_for(SCENARIOS[name](bounds), seconds))
        except Exception:  # noqa: BLE001 -- it is told, and the other scenarios go on
            verdict = "BROKEN"
            broken.append(f"{name} (seed {bounds.seed})")
            traceback.print_exc(file=sys.stdout)
        print(f"{name}: {verdict}, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{runs} scenarios, {len(broken)} broken: {', '.join(broken) or 'none'}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
