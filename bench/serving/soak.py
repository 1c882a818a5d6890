"""Measure the memory over thousands of requests: ``python -m bench.serving.soak --file F``.

Asks what the views ask, mixed, each of another workload, queue or moment, from several clients at
once, on a ledger of ``bench.serving.views`` of which all is noted. Prints the memory as it goes, so
that a run that is broken off has printed its figures: the memory should level off.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from random import Random

import msgspec

from bench.serving.served import Server, run_server, some_keys

REQUESTS, CLIENTS, EACH, SEED, QUEUES = 4_000, 4, 250, 3, 1_000
MIXED = (
    (30, "workloads/{key}/why?detail=usual"),
    (8, "workloads/{key}/why?detail=whole"),
    (4, "workloads/{waits}/why-not"),
    (6, "queues?limit=1000"),
    (8, "positions?queue={queue}"),
    (8, "running?queue={queue}"),
    (8, "tree?of={queue}"),
    (4, "tree?limit=5000"),
    (3, "usage?limit=5000"),
    (4, "search?text=train-{nth}"),
    (6, "tree?limit=5000&asOf={seq}"),
    (3, "shares?limit=5000&asOf={seq}"),
    (3, "positions?queue={queue}&asOf={seq}"),
    (3, "running?queue={queue}&asOf={seq}"),
    (6, "events?limit=100&after={seq}"),
    (2, "events?type=WorkloadPreempted&limit=50&asOf={seq}"),
    (1, "costs?limit=5000&month=2026-03"),
    (1, "quota-use?limit=5000&month=2026-03"),
    (2, "reports/quota_history?limit=5000"),
    (4, "ledger"),
)
"""How often of a hundred or so, and what."""


def main(arguments: Sequence[str]) -> int:
    """Serve, ask and measure; return the exit code."""
    parser = ArgumentParser(prog="python -m bench.serving.soak", description=__doc__)
    parser.add_argument("--file", type=Path, required=True, help="the ledger")
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--minutes", type=float, default=60, help="it ends then at the latest")
    options = parser.parse_args(arguments)
    with run_server(str(options.file)) as server:
        server.wait_ready()
        print(f"ready after {server.cpu_s():.1f} s of CPU, {server.mib():.0f} MiB", flush=True)
        server.wait_indexed()
        soak(server, options.file, options.requests, options.minutes)
    return 0


def soak(server: Server, file: Path, requests: int, minutes: float) -> None:
    """Ask a server of which all is noted, and print its memory as it goes."""
    begun_s, peak = time.monotonic(), 0.0
    print("| requests | MiB | most so far | CPU s | minutes |\n| --: | --: | --: | --: | --: |")
    paths, lasted_min = _paths(server, file), 0.0
    with ThreadPoolExecutor(CLIENTS) as clients:
        for count in range(EACH, requests + 1, EACH):
            for _ in clients.map(server.ask, islice(paths, EACH)):
                peak = max(peak, server.mib())
            lasted_min = (time.monotonic() - begun_s) / 60
            figures = f"{server.mib():.0f} | {peak:.0f} | {server.cpu_s():.0f}"
            print(f"| {count} | {figures} | {lasted_min:.1f} |", flush=True)
            if lasted_min > minutes:
                return


def _paths(server: Server, file: Path) -> Iterator[str]:
    random = Random(SEED)
    keys = some_keys(file, 50_000)
    rows = msgspec.json.decode(server.ask("/v1/queues?limit=1000"))["items"]
    waiting = [row["head"] for row in rows if row["head"]]
    head = int(msgspec.json.decode(server.ask("/v1/ledger"))["headSeq"])
    weights, forms = [weight for weight, _ in MIXED], [form for _, form in MIXED]
    while True:
        (form,) = random.choices(forms, weights)
        yield "/v1/" + form.format(
            key=random.choice(keys),
            waits=random.choice(waiting),
            queue=f"queue-{random.randrange(QUEUES)}",
            seq=random.randrange(1, head),
            nth=random.randrange(10_000, 99_999),
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
