"""Play seeds of ``ordeal``: ``python -m tests.core.multikueue.ordeals --seeds 10000``."""

from __future__ import annotations

import argparse
import sys

from tests.core.multikueue.ordeal import Ordeal

STEPS = 150


def played(seed: int) -> Ordeal:
    """Play a seed.

    Raises:
        AssertionError: something did not hold; the message has the seed and its script.
    """
    ordeal = Ordeal(seed)
    try:
        ordeal.run(STEPS)
    except AssertionError as error:
        script = "\n".join(f"  - {line}" for line in ordeal.script)
        raise AssertionError(f"seed {seed}: {error}\n{script}") from error
    return ordeal


def main() -> int:
    """Play seeds; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    for seed in range(args.first, args.first + args.seeds):
        played(seed)
    sys.stdout.write(f"{args.seeds} seeds from {args.first} on: everything held\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
