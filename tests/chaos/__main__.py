"""Strike the real parts for a while: ``python -m tests.chaos --minutes 40``.

A control plane, PostgreSQL (SQLite where there is none), NATS and the three services run Jobs all
the time, while one fault after another is drawn by the seed. Each fault is a line, and a
table ends it. The exit code is 1 if a Job was lost, a promise was broken, or the ledger's audit
objects.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

import msgspec

from tests.chaos.ground import ground
from tests.chaos.siege import besiege
from tests.chaos.table import Found, table
from tidegate.cluster.progress import ProgressLines


def main() -> int:
    """Read the command line and run; return the exit code."""
    parser = ArgumentParser(
        prog="python -m tests.chaos",
        description=__doc__,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=5, help="of faults (5)")
    parser.add_argument("--seed", type=int, default=1, help="which faults, and when (1)")
    parser.add_argument("--json", type=Path, default=None, help="write what was found here, too")
    parser.add_argument("--folder", type=Path, default=None, help="keep state and logs here")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidegate-chaos-") as temporary:
        folder = wanted.folder or Path(temporary)
        match = asyncio.run(_run(folder, wanted.minutes, wanted.seed))
    sys.stdout.write(f"\n{table(match)}\n")
    if wanted.json is not None:
        wanted.json.write_bytes(msgspec.json.format(msgspec.json.encode(match)))
    return 0 if match.holds else 1


async def _run(folder: Path, minutes: float, seed: int) -> Found:
    lines = ProgressLines(sys.stdout)
    async with ground(folder, lines, seed) as parts:
        lines.write_line(
            f"{minutes:g} minutes of faults, seed {seed}; logs in {parts.running.logs}"
        )
        return await besiege(parts, minutes, seed, lines.write_line)


if __name__ == "__main__":
    sys.exit(main())
