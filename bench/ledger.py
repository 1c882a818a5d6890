"""Measure the ledger: ``python -m bench.ledger [--url URL] [--workloads N]``.

On the events of the core's baseline mix: append in turns of 1, 50 and 500, with hash chain, reports
and every commit on disk; read, check, fold, decide again; rebuild; start with and without a
snapshot. Then each SQL report on a month of 100 queues. Without a URL it measures SQLite on a file
of its own; with one, an empty database of PostgreSQL.
"""

from __future__ import annotations

import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from sqlalchemy import Engine, text

from bench.decided import baseline, regrouped, sealed
from bench.histories import history
from store import migrate
from store.engine import open_engine
from store.ledger import SqlLedger
from store.snapshots import SqlSnapshots
from store.views.catalog import VIEWS
from tidegate.contracts.entry import Entry, Positions, Snapshot
from tidegate.contracts.facts import Event
from tidegate.core import chain, snapshot
from tidegate.core.draft import Draft
from tidegate.replay.rebuild import rebuild
from tidegate.replay.verify import verify

LEASE_US = 3_600_000_000
TURNS = ((1, 2_000), (50, 25_000), (500, 200_000))
"""Events of a turn, and how many events are measured at most."""


def main(arguments: Sequence[str]) -> int:
    """Measure and print one line a figure."""
    asked = _parse(arguments)
    events = baseline()
    for size, limit in TURNS:
        with _empty(asked) as engine:
            _append(engine, regrouped(events, size, limit), f"append, turns of {size}")
    with _empty(asked) as engine:
        _replay(engine, events)
    with _empty(asked) as engine:
        _month(engine, asked.workloads)
    return 0


def _append(engine: Engine, turns: Sequence[list[Entry]], what: str) -> SqlLedger:
    ledger, took = _led(engine), list[float]()
    begun_cpu_s = time.process_time()
    for entries in turns:
        begun = time.perf_counter()
        ledger.append(1, entries[0].seq - 1, entries, Positions())
        took.append(time.perf_counter() - begun)
    cpu_us = (time.process_time() - begun_cpu_s) / turns[-1][-1].seq * 1e6
    slow = sorted(took)[-(len(took) // 100) - 1]
    _say(what, turns[-1][-1].seq, sum(took))
    told = f"median {median(took) * 1_000:.1f} ms, p99 {slow * 1_000:.1f} ms"
    print(f"  a turn: {told}; CPU of this process {cpu_us:.1f} us an event", flush=True)
    return ledger


def _replay(engine: Engine, events: Sequence[Sequence[Event]]) -> None:
    turns = sealed(events)
    ledger = _append(engine, turns, "append, the core's own turns")
    count = turns[-1][-1].seq
    _timed("read", count, lambda: sum(1 for _ in ledger.read()))
    _timed("check the chain", count, lambda: sum(1 for _ in chain.verify(ledger.read())))
    _timed("fold, chain checked (a start)", count, lambda: rebuild(ledger.read()))
    _timed("verify: every decision again", count, lambda: verify(ledger.read()))
    draft, head = rebuild(ledger.read(until=count - 1_000))
    state = snapshot.encode(draft)
    kept = SqlSnapshots(engine)
    made = Snapshot(seq=head.seq, version=snapshot.VERSION, state=state, head=head.hash)
    _timed(f"write a snapshot of {len(state):,} bytes", 1, lambda: kept.write(made))
    _timed("start from a snapshot", count, lambda: _start(ledger, kept))
    _timed("rebuild the reports", count, lambda: migrate.rebuild_reports(engine))


def _start(ledger: SqlLedger, kept: SqlSnapshots) -> Draft:
    found = kept.newest(snapshot.VERSION)
    assert found is not None, "it was written"
    [head] = ledger.read(found.seq - 1, found.seq)
    return rebuild(ledger.read(found.seq), snapshot.decode(found.state), head)[0]


def _month(engine: Engine, workloads: int) -> None:
    ledger, took, count = _led(engine), 0.0, 0
    for entries in history(workloads, 500):
        begun = time.perf_counter()
        ledger.append(1, count, entries, Positions())
        took += time.perf_counter() - begun
        count = entries[-1].seq
    _say(f"append a month of {workloads} workloads, turns of 500", count, took)
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as conn:
        conn.execute(text("ANALYZE"))
    for name in VIEWS:
        begun = time.perf_counter()
        with engine.connect() as conn:
            rows = len(conn.execute(text(f"SELECT * FROM {name}")).all())  # noqa: S608 - our names
        print(f"report {name}: {rows} rows in {time.perf_counter() - begun:.2f} s", flush=True)
    _timed("check the chain", count, lambda: sum(1 for _ in chain.verify(ledger.read())))


def _timed(what: str, count: int, work: Callable[[], object]) -> None:
    begun = time.perf_counter()
    work()
    _say(what, count, time.perf_counter() - begun)


def _say(what: str, count: int, took_s: float) -> None:
    print(f"{what}: {count:,} events in {took_s:.2f} s, {count / took_s:,.0f}/s", flush=True)


def _led(engine: Engine) -> SqlLedger:
    ledger = SqlLedger(engine)
    assert ledger.lead("bench", LEASE_US) is not None, "another bench holds this ledger"
    return ledger


@contextmanager
def _empty(asked: Namespace) -> Generator[Engine]:
    """Lend an empty ledger; the database named keeps nothing of it."""
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        engine = open_engine(asked.url or str(Path(folder) / "ledger.db"))
        try:
            migrate.upgrade(engine)
            yield engine
            if asked.url:
                migrate.downgrade(engine, "base")
        finally:
            engine.dispose()


def _parse(arguments: Sequence[str]) -> Namespace:
    parser = ArgumentParser(prog="python -m bench.ledger", description=__doc__)
    parser.add_argument("--url", default="", help="an empty PostgreSQL database")
    parser.add_argument("--folder", default=None, help="where the SQLite files are made")
    parser.add_argument("--workloads", type=int, default=100_000, help="of the month: ten events")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
