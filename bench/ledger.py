"""Measure the ledger: ``python -m bench.ledger [--on NAME] [--url URL] [--quick]``.

On the events of the core's baseline mix: append in turns of 1, 50 and 500, with hash chain, reports
and every commit on disk; read, check, fold, decide again; rebuild; start with and without a
snapshot. Then a month of 100 queues, about a million events, and each SQL report on it. On a SQLite
file and on a PostgreSQL server of its own, or on the empty database of a URL. The tables it prints
are those of docs/performance.md; it ends in time, whatever the machine does meanwhile.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from bench.figures import Figure, Watch, print_table
from bench.histories import month
from bench.histories.databases import empty_ledger, open_ledger, postgresql, server_cpu_s
from bench.histories.decided import baseline_turns, regroup_turns, seal_turns
from store.ledger import SqlLedger
from store.schema import migrate
from store.snapshots import SqlSnapshots
from tidegate.contracts import chain
from tidegate.contracts.entry import Entry, Positions, Snapshot
from tidegate.contracts.facts import Event
from tidegate.core.folding import snapshot
from tidegate.core.state.state import State
from tidegate.replay.rebuild import rebuild
from tidegate.replay.verify import audit_ledger

SQLITE, POSTGRESQL = "sqlite", "postgresql"
TURNS = ((1, 2_000), (50, 25_000), (500, 200_000))
"""Events of a turn, and how many events are measured at most."""
QUICK = ((1, 200), (50, 2_500), (500, 20_000))
QUICK_WORKLOADS = 2_000


def main(arguments: Sequence[str]) -> int:
    """Measure and print the tables; return the exit code."""
    options = _parse(arguments)
    events = baseline_turns()
    for name in options.on or (SQLITE, POSTGRESQL):
        with postgresql() if name == POSTGRESQL and not options.url else nullcontext("") as own:
            if own is None:
                print("PostgreSQL: not measured, no binaries on this machine; give --url.")
                continue
            url = "" if name == SQLITE else options.url or own
            _measure(options, name, url, events)
    return 0


def _measure(options: Namespace, name: str, url: str, events: Sequence[Sequence[Event]]) -> None:
    until = time.monotonic() + 60 * options.minutes
    for size, limit in QUICK if options.quick else TURNS:
        with empty_ledger(url, options.folder) as ledger:
            turns = regroup_turns(events, size, limit)
            print_table(f"{name}, turns of {size}", [_measure_append(ledger, turns, "append")])
    with empty_ledger(url, options.folder) as ledger:
        print_table(f"{name}, the core's own turns", _measure_replay(ledger, events))
    workloads = QUICK_WORKLOADS if options.quick else options.workloads
    with empty_ledger(url, options.folder) as ledger:
        title = f"{name}, a month of 100 queues and {workloads:,} workloads, a tenth preempted"
        print_table(title, month.measure(ledger, workloads, until))


def _measure_append(ledger: str, turns: Sequence[list[Entry]], label: str) -> Figure:
    with open_ledger(ledger) as engine:
        sql_ledger, watch = SqlLedger(engine), Watch()
        assert sql_ledger.begin_term("bench", month.LEASE_US) is not None, (
            "another bench holds this ledger"
        )
        with engine.connect() as conn:
            server_s = server_cpu_s(conn)
        for entries in turns:
            with watch:
                sql_ledger.append(1, entries[0].seq - 1, entries, Positions())
        with engine.connect() as conn:
            return watch.figure(label, turns[-1][-1].seq, server_cpu_s(conn) - server_s)


def _measure_replay(ledger: str, events: Sequence[Sequence[Event]]) -> Iterator[Figure]:
    turns = seal_turns(events)
    count = turns[-1][-1].seq
    yield _measure_append(ledger, turns, "append")
    with open_ledger(ledger) as engine:
        sql_ledger = SqlLedger(engine)
        yield _time("read", count, lambda: sum(1 for _ in sql_ledger.read()))
        yield _time(
            "check the chain", count, lambda: sum(1 for _ in chain.verify(sql_ledger.read()))
        )
        yield _time("fold: a start without snapshot", count, lambda: rebuild(sql_ledger.read()))
        yield _time("verify: every decision again", count, lambda: audit_ledger(sql_ledger.read()))
        yield from _measure_snapshots(sql_ledger, SqlSnapshots(engine), count)
        yield _time("rebuild the reports", count, lambda: migrate.rebuild_reports(engine))


def _measure_snapshots(
    sql_ledger: SqlLedger, snapshots: SqlSnapshots, count: int
) -> Iterator[Figure]:
    state, head = rebuild(sql_ledger.read(until=count - 1_000))
    encoded = snapshot.encode(state)
    written_snapshot = Snapshot(
        seq=head.seq, version=snapshot.VERSION, state=encoded, head=head.hash
    )
    size = f"{len(encoded) / 1_000_000:.1f} MB"
    yield _time(f"write a snapshot of {size}", 1, lambda: snapshots.write(written_snapshot))
    yield _time("start from it", count, lambda: _measure_start(sql_ledger, snapshots))


def _measure_start(sql_ledger: SqlLedger, snapshots: SqlSnapshots) -> State:
    newest = snapshots.newest(snapshot.VERSION)
    assert newest is not None, "it was written"
    [head] = sql_ledger.read(newest.seq - 1, newest.seq)
    return rebuild(sql_ledger.read(newest.seq), snapshot.decode(newest.state), head)[0]


def _time(label: str, count: int, work: Callable[[], object]) -> Figure:
    watch = Watch()
    work()
    return watch.figure(label, count)


def _parse(arguments: Sequence[str]) -> Namespace:
    parser = ArgumentParser(prog="python -m bench.ledger", description=__doc__)
    parser.add_argument(
        "--on", action="append", choices=(SQLITE, POSTGRESQL), help="may be given again; both"
    )
    parser.add_argument("--url", default="", help="an empty database of PostgreSQL to use instead")
    parser.add_argument("--folder", type=Path, help="where the SQLite files are made")
    parser.add_argument("--workloads", type=int, default=100_000, help="of the month: ten events")
    parser.add_argument(
        "--minutes", type=float, default=8, help="after which a database's month is cut short"
    )
    parser.add_argument("--quick", action="store_true", help="a fiftieth of all, half a minute")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
