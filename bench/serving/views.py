"""Measure the page on a large ledger: ``python -m bench.serving.views --file F [--soak N]``.

Fills a ledger of 1,000 queues and 100,000 workloads, about a million events, unless the file is
there, and starts ``tidegate serve`` on it. Opens each view in Chromium (not with ``--no-browser``):
when its first content stands there, how long a filter takes, and a step of the slider; then asks
what the views ask, each often, ``why`` 50 times a second, and N mixed requests. CPU is the
server's own. Each figure is printed as it is there.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from random import Random

import msgspec

from bench.answers import fill
from bench.serving.looked import looked
from bench.serving.paced import why_at_rate
from bench.serving.served import Server, run_server, some_keys
from bench.serving.soak import soak
from bench.serving.took import HEAD, Took, row

WORKLOADS, QUEUES, STANDING = 92_000, 1_000, 8_000
TIMES, STEP_EVENTS, SEED = 20, 2_500, 1
NOW = (
    ("why, brief form", "workloads/{key}/why"),
    ("why, usual form", "workloads/{key}/why?detail=usual"),
    ("why-not", "workloads/{waits}/why-not"),
    ("queues", "queues?limit=1000&offset={n}"),
    ("a queue's tree", "tree?of={queue}"),
    ("the workloads with its quota", "running?queue={queue}"),
    ("its positions, with when each might start", "positions?queue={queue}"),
    ("all Cohorts", "tree?limit=5000&offset={n}"),
    ("usage of all queues", "usage?limit=5000&offset={n}"),
    ("search", "search?text=train-9{nth}"),
)
ONCE = (
    ("a month's costs of all teams", "costs?limit=5000&month=2026-03"),
    ("what queues borrowed in it", "quota-use?limit=5000&month=2026-03"),
)


def main(arguments: Sequence[str]) -> int:
    """Fill, serve and measure; return the exit code."""
    parser = ArgumentParser(prog="python -m bench.serving.views", description=__doc__)
    parser.add_argument("--file", type=Path, required=True, help="the ledger, kept here")
    parser.add_argument("--workloads", type=int, default=WORKLOADS, help="that have finished")
    parser.add_argument("--times", type=int, default=TIMES, help="that each is asked")
    parser.add_argument("--no-browser", action="store_true")
    parser.add_argument("--soak", type=int, default=0, help="mixed requests afterwards")
    options = parser.parse_args(arguments)
    if not options.file.exists():
        fill(options.file, options.workloads, QUEUES, STANDING)
    with run_server(str(options.file)) as server:
        server.wait_ready()
        print(f"ready after {server.cpu_s():.1f} s of CPU, {server.mib():.0f} MiB", flush=True)
        server.wait_indexed()
        print(f"all noted after {server.cpu_s():.1f} s of CPU, {server.mib():.0f} MiB", flush=True)
        _measure(server, options)
    return 0


def _measure(server: Server, options: Namespace) -> None:
    print(HEAD)
    if not options.no_browser:
        places = [(space, name) for space, _, name in (k.partition("/") for k in _waiting(server))]
        _print(server, looked(server, places, _head(server)))
    keys = some_keys(options.file, options.times)
    _print(server, chain(_time_views(server, keys), _time_moves(server, options.times)))
    print(why_at_rate(server, options.file, "usual"), flush=True)
    if options.soak:
        soak(server, options.file, options.soak, minutes=60)
    print(f"memory: {server.mib():.0f} MiB", flush=True)


def _print(server: Server, times: Iterator[tuple[str, list[Took]]]) -> None:
    for name, took in times:
        print(row(name, took, server.mib()), flush=True)


def _time_views(server: Server, keys: list[str]) -> Iterator[tuple[str, list[Took]]]:
    waiting = _waiting(server)
    for name, path in NOW:
        paths = [
            path.format(queue=f"queue-{7 * n}", nth=f"{n:02}", n=n, key=key, waits=waiting[n])
            for n, key in enumerate(keys)
        ]
        yield name, [_time_view(server, view) for view in paths]
    for name, path in ONCE:
        yield name, [_time_view(server, path)]


def _waiting(server: Server) -> list[str]:
    rows = msgspec.json.decode(server.ask("/v1/queues?limit=1000"))["items"]
    return [row["head"] for row in rows if row["head"]]


def _time_moves(server: Server, times: int) -> Iterator[tuple[str, list[Took]]]:
    head, random = _head(server), Random(SEED)
    jumps = [random.randrange(1, head) for _ in range(times)]
    yield "a jump to anywhere", [_time_view(server, f"tree?limit=5000&asOf={seq}") for seq in jumps]
    at, steps = head // 2, list[int]()
    for _ in range(times):
        at += random.randrange(-STEP_EVENTS, STEP_EVENTS)
        steps.append(at)
    _time_view(server, f"tree?limit=5000&asOf={head // 2}")
    yield (
        "a step by up to 2,500 events",
        [_time_view(server, f"tree?limit=5000&asOf={seq}") for seq in steps],
    )


def _time_view(server: Server, path: str) -> Took:
    cpu_s, begun = server.cpu_s(), time.perf_counter()
    server.ask(f"/v1/{path}")
    return Took.since(begun, server.cpu_s() - cpu_s)


def _head(server: Server) -> int:
    return int(msgspec.json.decode(server.ask("/v1/ledger"))["headSeq"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
