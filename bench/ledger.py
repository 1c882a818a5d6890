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
from statistics import median

from sqlalchemy import Engine, text

from bench.histories import history
from store import migrate
from store.engine import open_engine
from store.ledger import SqlLedger
from store.views.catalog import VIEWS
from tidegate.contracts.entry import Positions

LEASE_US = 3_600_000_000


def main(arguments: Sequence[str]) -> int:
    """Measure and print one line a figure."""
    asked = _parse(arguments)
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        engine = open_engine(asked.url or str(Path(folder) / "ledger.db"))
        try:
            _measure(engine, asked)
        finally:
            engine.dispose()
    return 0


def _measure(engine: Engine, asked: Namespace) -> None:
    migrate.upgrade(engine)
    ledger = SqlLedger(engine, reports=not asked.no_reports)
    term = ledger.lead("bench", LEASE_US)
    assert term is not None, "another bench holds this ledger"
    took, cpu_s, count = list[float](), 0.0, 0
    for entries in history(asked.workloads, asked.turn):
        begun, cpu_begun_s = time.perf_counter(), time.process_time()
        ledger.append(term.epoch, count, entries, Positions())
        took.append(time.perf_counter() - begun)
        cpu_s += time.process_time() - cpu_begun_s
        count = entries[-1].seq
    what = f"{engine.dialect.name}, turns of {asked.turn}"
    _say(f"append, {what}, {'without' if asked.no_reports else 'with'} reports", count, sum(took))
    slow = sorted(took)[-(len(took) // 100) - 1]
    print(f"CPU of this process: {cpu_s / count * 1e6:.1f} us an event")
    print(f"a turn: median {median(took) * 1_000:.1f} ms, p99 {slow * 1_000:.1f} ms")
    begun = time.perf_counter()
    assert sum(1 for _ in ledger.read()) == count
    _say(f"read, {what}", count, time.perf_counter() - begun)
    if not asked.no_reports:
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
