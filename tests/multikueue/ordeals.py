"""Play seeds of ``ordeal``: ``python -m tests.multikueue.ordeals --seeds 20``."""

from __future__ import annotations

import argparse
import logging
import sys

from tests.multikueue.ordeal import Ordeal
from tests.parts.virtual import run_virtually


def played(seed: int) -> None:
    """Play a seed.

    Raises:
        AssertionError: something did not hold; the message has the seed and what struck.
    """
    made = list[Ordeal]()

    async def live() -> None:
        made.append(Ordeal(seed))
        await made[0].run()

    try:
        run_virtually(live())
    except AssertionError as error:
        script = "\n".join(made[0].script)
        raise AssertionError(f"seed {seed}: {error}\n{script}") from error


def main() -> int:
    """Play seeds; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    logging.disable()
    for seed in range(args.first, args.first + args.seeds):
        played(seed)
    sys.stdout.write(f"{args.seeds} seeds from {args.first} on: everything held\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
