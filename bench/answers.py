"""Measure the commands on a large ledger: ``python -m bench.answers [--workloads N] [--file F]``.

Fills a SQLite file with a month of 100 queues (``bench.histories.synthetic``), a snapshot each
10,000 events as a scheduler would keep them, and asks every command that reads. CPU seconds of the
command's process, start-up included, the least of two runs; a file that is there already is asked
as it is.
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

from bench.histories.databases import open_ledger
from bench.histories.synthetic import QUEUES, history
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
LIMIT_S, RUNS = 300, 2
REFUSED = 2  # exit code of a report with more rows than are printed by default
SOMEWHERE = 540_000
RECENT, WAITING = "job/job-train-101900-5f2c9", "job/job-train-101995-5f2c9"
COMMANDS = (
    "--version",
    "--help",
    "ledger info",
    "events --tail 3",
    "events --tail 3 --queue queue-7",
    f"events --tail 3 --as-of {SOMEWHERE}",
    "events --tail 3 --queue absent",
    "events --tail 3 --type ClusterQueueDefined",
    "events --since 1 --type WorkloadPreempted --queue queue-7",
    f"events --since 2h {RECENT}",
    "why job/nothing",
    f"why {RECENT}",
    f"why --brief {RECENT}",
    "why job/job-train-50000-5f2c9",
    "why job/job-train-50900-5f2c9",
    f"why-not {WAITING}",
    "what-if submit JOB",
    "show queues",
    "show pending",
    "show positions",
    "show workloads",
    "show usage",
    "show tree",
    f"show tree --as-of {SOMEWHERE}",
    "show shares",
    f"show priority {WAITING}",
    "show budgets",
    "top --once",
    *(f"report {name}" for name in ("queue_now", "admitted_now", "queues", "quota_now")),
    "report quota_history",
    "report prices",
    "report wait_summary",
    *(
        f"report {name} --group-by cluster_queue"
        for name in ("usage_hourly", "quota_hourly", "waits", "holdings")
    ),
    *(
        f"report {name} --since 2026-03-30 --until 2026-03-31 --queue queue-7"
        for name in ("usage_hourly", "quota_hourly", "waits", "holdings", "preemptions")
    ),
    "report chargeback --since 2026-03-01 --until 2026-04-01 --group-by cluster_queue",
    "report chargeback --since 2026-03-01 --until 2026-04-01 --group-by namespace,currency",
    "report queue_history",
    "report usage_hourly -o csv",
    "report usage_hourly -o csv --limit 0",
    "what-if config --set cq/queue-7.cpu=80 --from 2026-03-29T06:00:00Z",
)
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: probe, namespace: team-1, labels: {kueue.x-k8s.io/queue-name: main}}
spec:
  parallelism: 3
  completions: 3
  template:
    spec:
      containers:
        - {name: main, resources: {requests: {cpu: 2, memory: 4Gi}}}
"""


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
        job = Path(folder) / "job.yaml"
        job.write_text(JOB)
        print("| command | CPU s |\n| --- | --: |")
        for command in COMMANDS:
            words = [str(job) if word == "JOB" else word for word in command.split()]
            print(f"| `{command}` | {_least_s(words, file)} |", flush=True)
    return 0


def fill(file: Path, workloads: int, queues: int = QUEUES, standing: int = 0) -> None:
    """Make a ledger of so many workloads, with the snapshots that a scheduler would have kept."""
    migrate.upgrade(str(file))
    with open_ledger(str(file)) as engine:
        ledger, snapshots = SqlLedger(engine), SqlSnapshots(engine)
        assert ledger.begin_term("bench", 0) is not None, "another bench holds this ledger"
        state, last = State(), 0
        for entries in history(workloads, TURN, queues, standing):
            head = entries[-1]
            ledger.append(1, entries[0].seq - 1, entries, Positions())
            for entry in entries:
                apply_recorded(state, decode(entry.payload))
            if head.seq - last >= KEPT_EACH:
                encoded, last = snapshot.encode(state), head.seq
                version = snapshot.VERSION
                snapshots.write(Snapshot(seq=last, version=version, state=encoded, head=head.hash))


def _least_s(words: list[str], file: Path) -> str:
    """Return the CPU seconds of a command: the least of its runs, since others compile or wait."""
    environment = {**os.environ, "TIDEGATE_LEDGER": str(file)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else each compiles its imports
    command = [sys.executable, "-m", "tidegate.cli.main", *words]
    lasted = list[float]()
    for _ in range(RUNS):
        before = _children_s()
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, check=False, timeout=LIMIT_S
            )
        except subprocess.TimeoutExpired:
            return f"more than {LIMIT_S}"
        assert done.returncode in {0, 1, REFUSED}, done.stderr.decode()
        lasted.append(_children_s() - before)
    return f"{min(lasted):.2f}"


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
