"""Measure what servers cost the writer of a ledger: ``python -m bench.serving.beside``.

Appends turns to a new SQLite ledger as a scheduler does, reports and all, and takes the CPU time of
that: by turns while two ``tidegate serve`` follow the ledger and are asked for queues and events,
and while both stand still. It is never asked itself, so what they cost it is waiting for the file.
"""

from __future__ import annotations

import os
import signal
import statistics
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from bench.histories.databases import open_ledger
from bench.histories.synthetic import history
from bench.serving.served import Server, run_server
from store.ledger import SqlLedger
from store.schema import migrate
from tidegate.contracts.entry import Entry, Positions

WORKLOADS, QUEUES, TURN = 4_000, 100, 20
BLOCK, PAUSE_S, PER_S = 100, 0.005, 20


def main(arguments: Sequence[str]) -> int:
    """Append and measure; return the exit code."""
    parser = ArgumentParser(prog="python -m bench.serving.beside", description=__doc__)
    parser.add_argument("--blocks", type=int, default=8, help="of 100 turns, each with and without")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "ledger.db"
        migrate.upgrade(str(file))
        with open_ledger(str(file)) as engine, ExitStack() as stack:
            ledger = SqlLedger(engine)
            assert ledger.begin_term("bench", 0) is not None
            turns = history(WORKLOADS, TURN, QUEUES)
            for entries in islice(turns, 2 * QUEUES):
                ledger.append(1, entries[0].seq - 1, entries, Positions())
            servers = [stack.enter_context(run_server(str(file))) for _ in range(2)]
            for server in servers:
                server.wait_ready()
                server.wait_indexed()
            _print(_measured(ledger, turns, servers, options.blocks))
    return 0


def _measured(
    ledger: SqlLedger, turns: Iterator[list[Entry]], servers: list[Server], blocks: int
) -> dict[bool, list[float]]:
    cpu_ms: dict[bool, list[float]] = {True: [], False: []}
    for block in range(2 * blocks):
        beside, over = block % 2 == 0, Event()
        for server in servers:
            os.kill(server.pid, signal.SIGCONT if beside else signal.SIGSTOP)
        with ThreadPoolExecutor(1) as clients:
            beside_run = clients.submit(_ask, servers, over) if beside else None
            cpu_ms[beside] += [_append(ledger, entries) for entries in islice(turns, BLOCK)]
            over.set()
            if beside_run is not None:
                print(f"{beside_run.result()} requests beside", flush=True)
    for server in servers:
        os.kill(server.pid, signal.SIGCONT)
    return cpu_ms


def _append(ledger: SqlLedger, entries: list[Entry]) -> float:
    begun = time.thread_time()
    ledger.append(1, entries[0].seq - 1, entries, Positions())
    used = time.thread_time() - begun
    time.sleep(PAUSE_S)
    return 1_000 * used


def _ask(servers: list[Server], over: Event) -> int:
    count = 0
    while not over.wait(1 / PER_S):
        servers[count % 2].ask("/v1/queues?limit=20")
        servers[count % 2].ask("/v1/events?limit=5")
        count += 2
    return count


def _print(cpu_ms: dict[bool, list[float]]) -> None:
    print("| CPU ms of a turn of 20 events | median | mean | turns |\n| --- | --: | --: | --: |")
    for beside, name in ((False, "alone"), (True, "beside two servers")):
        each = cpu_ms[beside]
        figures = f"{statistics.median(each):.2f} | {statistics.mean(each):.2f}"
        print(f"| {name} | {figures} | {len(each)} |")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
