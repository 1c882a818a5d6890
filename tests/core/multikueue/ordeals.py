"""Play seeds of ``ordeal``: ``python -m tests.core.multikueue.ordeals --seeds 10000``.

With ``--crowds`` those of ``crowd``, in which an object has several workloads.
"""

from __future__ import annotations

import argparse
import sys

from tests.core.multikueue.crowd import Crowd
from tests.core.multikueue.ordeal import Ordeal

STEPS, CROWD_STEPS = 150, 250


def played(seed: int) -> None:
    """Play a seed of a world with one workload.

    Raises:
        AssertionError: something did not hold; the message has the seed and its script.
    """
    _play(seed, Ordeal(seed), STEPS)


def crowded(seed: int) -> None:
    """Play a seed of a world with several; see ``played``."""
    _play(seed, Crowd(seed), CROWD_STEPS)


def _play(seed: int, world: Ordeal | Crowd, steps: int) -> None:
    try:
        world.run(steps)
    except AssertionError as error:
        script = "\n".join(f"  - {line}" for line in world.script)
        raise AssertionError(f"seed {seed}: {error}\n{script}") from error


def main() -> int:
    """Play seeds; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--crowds", action="store_true")
    args = parser.parse_args()
    for seed in range(args.first, args.first + args.seeds):
        (crowded if args.crowds else played)(seed)
    sys.stdout.write(f"{args.seeds} seeds from {args.first} on: everything held\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
