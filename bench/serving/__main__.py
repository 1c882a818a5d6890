"""Measure ``why`` over HTTP: ``python -m bench.serving --file F [--detail brief]``.

Fills a ledger as ``bench.answers`` does, unless the file is there; starts ``tidegate serve`` on it,
and asks why of workloads of the whole history, each another, so often a second. Times are a
client's, from when a question was due: one that waits for the one before it counts that, too.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.answers import WORKLOADS, fill
from bench.serving.served import Server, served, some_keys

PER_S, SECONDS, CLIENTS = 50, 20, 16


def main(arguments: Sequence[str]) -> int:
    """Fill, serve and measure; return the exit code."""
    parser = ArgumentParser(prog="python -m bench.serving", description=__doc__)
    parser.add_argument("--workloads", type=int, default=WORKLOADS)
    parser.add_argument("--file", type=Path, required=True, help="the ledger, kept here")
    parser.add_argument("--detail", default="brief", choices=("brief", "usual"))
    parser.add_argument("--per-s", type=int, default=PER_S)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    options = parser.parse_args(arguments)
    if not options.file.exists():
        fill(options.file, options.workloads)
    keys = some_keys(options.file, options.per_s * options.seconds)
    with served(str(options.file)) as server:
        server.wait_ready()
        print(f"ready after {server.since_s():.1f} s, {server.mib():.0f} MiB", flush=True)
        server.wait_indexed()
        print(f"index made after {server.since_s():.1f} s, {server.mib():.0f} MiB", flush=True)
        paths = [f"/v1/workloads/{key}/why?detail={options.detail}" for key in keys]
        before_s = server.cpu_s()
        print(_told(_asked(server, paths, options.per_s)), f"{server.mib():.0f} MiB")
        used_ms = 1_000 * (server.cpu_s() - before_s) / len(paths)
        print(f"the server's CPU time: {used_ms:.1f} ms an answer")
    return 0


def _asked(server: Server, paths: list[str], per_s: int) -> list[float]:
    begun = time.monotonic() + 0.5
    dues = [begun + n / per_s for n in range(len(paths))]
    with ThreadPoolExecutor(CLIENTS) as clients:
        return list(clients.map(_one, [server] * len(paths), paths, dues))


def _one(server: Server, path: str, due_s: float) -> float:
    time.sleep(max(0.0, due_s - time.monotonic()))
    server.ask(path)
    return time.monotonic() - due_s


def _told(times: list[float]) -> str:
    ranked = sorted(times)
    p50, p99 = (1_000 * ranked[len(ranked) * share // 100] for share in (50, 99))
    most = 1_000 * ranked[-1]
    return f"{len(ranked)} answers: p50 {p50:.0f} ms, p99 {p99:.0f} ms, most {most:.0f} ms;"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
