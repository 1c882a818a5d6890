"""Measure ``why`` over HTTP: ``python -m bench.serving --file F [--detail brief]``.

Fills a ledger as ``bench.answers`` does, unless the file is there; starts ``tidegate serve`` on it,
and asks why of workloads of the whole history, each another, so often a second. Times are a
client's, from when a question was due: one that waits for the one before it counts that, too.
"""

from __future__ import annotations

import sys
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import psutil

from bench.answers import WORKLOADS, fill
from tidegate.cli.ledger.reading import open_reader
from tidegate.cluster.processes import Process, spawn, stop
from tidegate.ports import free_ports

PER_S, SECONDS, CLIENTS, SEED = 50, 20, 16, 1
READY_S = 600


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
    keys = _keys(options.file, options.per_s * options.seconds)
    (port,) = free_ports(1)
    words = ["serve", "--ledger", str(options.file), "--port", str(port), "--rate", "100000"]
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tidegate.cli.main", *words]
        process = spawn("serve", command, Path(folder) / "serve.log")
        try:
            begun = time.monotonic()
            _ready(port, process)
            print(f"ready after {time.monotonic() - begun:.1f} s, {_memory(process)}", flush=True)
            _settled(process)
            print(
                f"index made after {time.monotonic() - begun:.1f} s, {_memory(process)}", flush=True
            )
            paths = [f"/v1/workloads/{key}/why?detail={options.detail}" for key in keys]
            before_s = _cpu_s(process)
            print(_told(_asked(port, paths, options.per_s)), _memory(process))
            used_ms = 1_000 * (_cpu_s(process) - before_s) / len(paths)
            print(f"the server's CPU time: {used_ms:.1f} ms an answer")
        finally:
            stop(process)
    return 0


def _keys(file: Path, count: int) -> list[str]:
    with open_reader(str(file), reports=False) as reader:
        assert reader.database is not None
        rows = reader.database.select("SELECT workload FROM report_workload WHERE partition = 0")
    keys = [str(key) for (key,) in rows]
    return Random(SEED).sample(keys, min(count, len(keys)))


def _ready(port: int, process: Process) -> None:
    until = time.monotonic() + READY_S
    while time.monotonic() < until and psutil.pid_exists(process.pid):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise SystemExit("the server is not ready")


def _settled(process: Process) -> None:
    """Wait until the server has nothing to do any more."""
    watched = psutil.Process(process.pid)
    while watched.cpu_percent(interval=3) > 15:  # noqa: PLR2004 - it only looks for news
        pass


def _asked(port: int, paths: list[str], per_s: int) -> list[float]:
    begun = time.monotonic() + 0.5
    dues = [begun + n / per_s for n in range(len(paths))]
    with ThreadPoolExecutor(CLIENTS) as clients:
        return list(clients.map(_one, [port] * len(paths), paths, dues))


def _one(port: int, path: str, due_s: float) -> float:
    time.sleep(max(0.0, due_s - time.monotonic()))
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, (path, answer.status)  # noqa: PLR2004 - HTTP's
    finally:
        connection.close()
    return time.monotonic() - due_s


def _told(times: list[float]) -> str:
    ranked = sorted(times)
    p50, p99 = (1_000 * ranked[len(ranked) * share // 100] for share in (50, 99))
    most = 1_000 * ranked[-1]
    return f"{len(ranked)} answers: p50 {p50:.0f} ms, p99 {p99:.0f} ms, most {most:.0f} ms;"


def _cpu_s(process: Process) -> float:
    used = psutil.Process(process.pid).cpu_times()
    return used.user + used.system


def _memory(process: Process) -> str:
    return f"{psutil.Process(process.pid).memory_info().rss / 2**20:.0f} MiB"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
