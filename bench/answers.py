"""Measure the commands on a large ledger: ``python -m bench.answers [--workloads N] [--file F]``.

Fills a SQLite file with a month of 100 queues (``bench.histories.synthetic``), a snapshot each
10,000 events as a scheduler would keep them, and asks every command that reads. CPU seconds of the
command's process, start-up included; a file that is there already is asked as it is.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from bench.histories.databases import opened
from bench.histories.synthetic import history
from store.ledger import SqlLedger
from store.schema import migrate
from store.snapshots import SqlSnapshots
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Positions, Snapshot
from tidegate.core.folding import snapshot
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.state.state import State

WORKLOADS = 102_000  # about 1,080,000 events
TURN, KEPT_EACH = 500, 10_000
LEASE_US = 36_000_000_000
LIMIT_S = 300
SOMEWHERE = 540_000
COMMANDS = (
    "--version",
    "ledger info",
    "events --tail 3",
    "events --tail 3 --queue queue-7",
    f"events --tail 3 --as-of {SOMEWHERE}",
    "events --tail 3 --type ClusterQueueDefined",
    "why job/nothing",
    "why job/job-train-50000-5f2c9",
    "show tree",
    f"show tree --as-of {SOMEWHERE}",
    "show shares",
    "show queues",
    "show usage",
    "show workloads",
    "top --once",
    "report queue_now",
    "report wait_summary",
)


def main(arguments: Sequence[str]) -> int:
    """Fill and measure; return the exit code."""
    parser = ArgumentParser(prog="python -m bench.answers", description=__doc__)
    parser.add_argument("--workloads", type=int, default=WORKLOADS)
    parser.add_argument("--file", type=Path, help="keep the ledger here")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        file = options.file or Path(folder) / "ledger.db"
        if not file.exists():
            fill(file, options.workloads)
        print("| command | CPU s |\n| --- | --: |")
        for command in COMMANDS:
            print(f"| `{command}` | {_cpu_s(command.split(), file)} |", flush=True)
    return 0


def fill(file: Path, workloads: int) -> None:
    """Make a ledger of so many workloads, with the snapshots that a scheduler would have kept."""
    migrate.upgrade(str(file))
    with opened(str(file)) as engine:
        ledger, sql_snapshots = SqlLedger(engine), SqlSnapshots(engine)
        assert ledger.lead("bench", LEASE_US) is not None, "another bench holds this ledger"
        state, last = State(), 0
        for entries in history(workloads, TURN):
            head = entries[-1]
            ledger.append(1, entries[0].seq - 1, entries, Positions())
            for entry in entries:
                apply_recorded(state, decode(entry.payload))
            if head.seq - last >= KEPT_EACH:
                encoded, last = snapshot.encode(state), head.seq
                version = snapshot.VERSION
                sql_snapshots.write(
                    Snapshot(seq=last, version=version, state=encoded, head=head.hash)
                )


def _cpu_s(words: list[str], file: Path) -> str:
    fields = {**os.environ, "TIDEGATE_LEDGER": str(file)}
    before = _children_s()
    resources = [sys.executable, "-m", "tidegate.cli.main", *words]
    try:
        subprocess.run(resources, env=fields, capture_output=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"more than {LIMIT_S}"
    return f"{_children_s() - before:.2f}"


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
