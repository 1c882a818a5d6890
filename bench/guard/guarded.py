"""What ``make bench`` measures: short parts of the measurements, each beside a raw rate.

The core stands beside a fixed loop of Python, so does the pipeline, and the ledger beside bare
inserts into the same kind of file, all in CPU time: how busy machine and disk are says nothing
about this program. Latency and the whole system stand beside the patches that the API server of
the same run takes from a client that does nothing else.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from bench.guard.kept import Sample
from bench.histories.decided import baseline_turns, regroup_turns
from bench.virtual.driving import drive
from bench.virtual.loads import BASELINE
from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema import migrate
from tidegate.contracts.entry import Entry, Positions

Run: TypeAlias = Callable[[], Mapping[str, Sample]]
LOOPS = 2_000_000
TURN, EVENTS_MAX = 500, 30_000
LATENCY = ("bench.latency", "--jobs", "150", "--timeout-s", "300")
CLUSTER = ("bench.cluster", "--part", "50", "--raw", "400", "--timeout-s", "300")
RUNNER = ("bench.cluster", "--config", "runner", *CLUSTER[1:])
PIPELINE = ("bench.pipeline", "--rates", "50,0", "--seconds", "8", "--jobs", "1500")
PATIENCE_S = 600


class UnmeasuredError(Exception):
    """A measurement came to no end; its own output says why."""


def core() -> Mapping[str, Sample]:
    """Measure the core on the baseline mix, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(decided).result()


def decided() -> Mapping[str, Sample]:
    """Drive the baseline mix; decisions a CPU second beside the loop's rate before and after."""
    before = loops_per_s()
    tally = drive(BASELINE, "tidegate", fair=False, staggered=False)
    rate = tally.decisions / tally.cpu_s
    unit = "decisions / loops, a CPU second"
    return {"core": Sample(figure=rate, raw=(before + loops_per_s()) / 2, unit=unit)}


def ledger() -> Mapping[str, Sample]:
    """Append the core's events in turns of 500, and the same bytes to a bare table."""
    turns = _turns()
    count = turns[-1][-1].seq
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        raw = count / _inserting_cpu_s(Path(folder) / "bare.db", turns)
        rate = count / _appending_cpu_s(Path(folder) / "ledger.db", turns)
    return {"ledger append": Sample(figure=rate, raw=raw, unit="events / bare rows, a CPU second")}


def latency() -> Mapping[str, Sample]:
    """Measure from a decision's row to a running job, beside the raw rate of patches."""
    figures = _json_of(LATENCY)
    rate = 1_000 / figures["median_ms"]
    unit = "starts one after another / patches, a second"
    return {"latency": Sample(figure=rate, raw=figures["raw_patches_per_s"], unit=unit)}


def cluster() -> Mapping[str, Sample]:
    """Measure a part of the baseline load on the whole system."""
    figures = _json_of(CLUSTER)
    count, raw = figures["finished"], figures["raw"]["patches_per_s"]
    cpu_s = sum(figures["processes"][name]["cpu_s"] for name in ("ingest", "scheduler", "actuator"))
    writes = sum(figures["writes"].values()) / count
    return {
        "cluster": Sample(
            figure=count / figures["wall_s"], raw=raw, unit="workloads / patches, a second"
        ),
        "cluster CPU": Sample(
            figure=count / cpu_s, raw=loops_per_s(), unit="workloads / loops, a CPU second"
        ),
        "cluster writes": Sample(figure=1, raw=writes, unit="workload / writes"),
    }


def runner() -> Mapping[str, Sample]:
    """Measure a part of the baseline load as Kueue's own runner plays it."""
    figures = _json_of(RUNNER)
    count, raw = figures["finished"], figures["raw"]["patches_per_s"]
    parts = ("ingest", "scheduler", "actuator", "nats-server")
    cpu_s = sum(figures["processes"][name]["cpu_s"] for name in parts)
    return {
        "runner": Sample(
            figure=count / figures["wall_s"], raw=raw, unit="workloads / patches, a second"
        ),
        "runner CPU": Sample(
            figure=count / cpu_s, raw=loops_per_s(), unit="workloads / loops, a CPU second"
        ),
    }


def pipeline() -> Mapping[str, Sample]:
    """Measure the services, the bus and the ledger without an API server."""
    return {
        f"pipeline {row['name']}": Sample(
            figure=1_000 / sum(row["cpu_ms"].values()),
            raw=row["loops_per_s"],
            unit="Jobs / loops, a CPU second",
        )
        for row in _json_of(PIPELINE)
    }


BENCHMARKS: Mapping[str, Run] = {
    "core": core,
    "ledger": ledger,
    "latency": latency,
    "cluster": cluster,
    "runner": runner,
    "pipeline": pipeline,
}


def loops_per_s() -> float:
    """Return how fast this machine runs a fixed loop of Python, a CPU second."""
    began_s, sizes = time.process_time(), dict[int, tuple[int, int]]()
    for number in range(LOOPS):
        sizes[number & 1_023] = (number, number * 7 & 255)
    return LOOPS / (time.process_time() - began_s)


@cache
def _turns() -> Sequence[list[Entry]]:
    return regroup_turns(baseline_turns(), TURN, EVENTS_MAX)


def _inserting_cpu_s(path: Path, turns: Sequence[list[Entry]]) -> float:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE bare (seq INTEGER PRIMARY KEY, payload BLOB)")
        began_s = time.process_time()
        for entries in turns:
            rows = [(entry.seq, entry.payload) for entry in entries]
            database.executemany("INSERT INTO bare VALUES (?, ?)", rows)
            database.commit()
        return time.process_time() - began_s


def _appending_cpu_s(path: Path, turns: Sequence[list[Entry]]) -> float:
    engine = open_engine(str(path))
    try:
        migrate.upgrade(engine)
        ledger = SqlLedger(engine)
        assert ledger.begin_term("bench", 3_600_000_000) is not None, (
            "no other process has this file"
        )
        began_s = time.process_time()
        for entries in turns:
            ledger.append(1, entries[0].seq - 1, entries, Positions())
        return time.process_time() - began_s
    finally:
        engine.dispose()


def _json_of(command: Sequence[str]) -> Any:  # noqa: ANN401 - a document of another measurement
    """Run a measurement in a process of its own and return the figures that it wrote.

    Raises:
        UnmeasuredError: it failed, or took too long.
    """
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        path = Path(folder) / "figures.json"
        line = [sys.executable, "-m", *command, "--json", str(path)]
        try:
            subprocess.run(line, stdout=subprocess.DEVNULL, timeout=PATIENCE_S, check=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise UnmeasuredError(f"python -m {' '.join(command)}: {error}") from error
        return msgspec.json.decode(path.read_bytes())
