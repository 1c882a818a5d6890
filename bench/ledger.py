"""Measure the ledger: ``python -m bench.ledger [--url URL] [--workloads N] [--turn N]``.

Appends a month of 100 queues, with and without reports, then reads it and runs each SQL report.
Without a URL it measures SQLite on a file of its own.
"""

from __future__ import annotations

import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Engine, text

from bench.histories import history
from store import migrate
from store.engine import open_engine, shown
from store.ledger import SqlLedger
from store.views.catalog import VIEWS
from tidegate.contracts.entry import Entry, Positions

LEASE_US = 3_600_000_000


def main(arguments: Sequence[str]) -> int:
    """Measure and print one line a figure."""
    asked = _parse(arguments)
    print(f"sealing {asked.workloads} workloads", file=sys.stderr)
    turns = list(history(asked.workloads, asked.turn))
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        engine = open_engine(asked.url or str(Path(folder) / "ledger.db"))
        try:
            _measure(engine, turns, reports=not asked.no_reports)
        finally:
            engine.dispose()
    return 0


def _measure(engine: Engine, turns: list[list[Entry]], *, reports: bool) -> None:
    migrate.upgrade(engine)
    ledger = SqlLedger(engine, reports=reports)
    term = ledger.lead("bench", LEASE_US)
    assert term is not None, "another bench holds this ledger"
    count = sum(map(len, turns))
    begun = time.perf_counter()
    slowest = 0.0
    for entries in turns:
        before = time.perf_counter()
        ledger.append(term.epoch, entries[0].seq - 1, entries, Positions())
        slowest = max(slowest, time.perf_counter() - before)
    took = time.perf_counter() - begun
    what = f"{shown(engine).partition(':')[0]}, turns of {len(turns[0])}"
    _say(f"append, {what}, {'with' if reports else 'without'} reports", count, took)
    print(f"slowest turn: {slowest * 1_000:.1f} ms")
    begun = time.perf_counter()
    assert sum(1 for _ in ledger.read()) == count
    _say(f"read, {what}", count, time.perf_counter() - begun)
    if reports:
        _measure_reports(engine)


def _measure_reports(engine: Engine) -> None:
    for name in VIEWS:
        begun = time.perf_counter()
        with engine.connect() as conn:
            rows = len(conn.execute(text(f"SELECT * FROM {name}")).all())  # noqa: S608 - our names
        print(f"report {name}: {rows} rows in {time.perf_counter() - begun:.2f} s")


def _say(what: str, count: int, took_s: float) -> None:
    print(f"{what}: {count} events in {took_s:.2f} s, {count / took_s:,.0f} events/s", flush=True)


def _parse(arguments: Sequence[str]) -> Namespace:
    parser = ArgumentParser(prog="python -m bench.ledger", description=__doc__)
    parser.add_argument("--url", default="", help="an empty database; default: a SQLite file")
    parser.add_argument("--folder", default=None, help="where the SQLite file is made")
    parser.add_argument("--workloads", type=int, default=10_000, help="about ten events each")
    parser.add_argument("--turn", type=int, default=1_000, help="events of one transaction")
    parser.add_argument("--no-reports", action="store_true", help="leave the reporting tables out")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
