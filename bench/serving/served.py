"""``tidegate serve`` as a process of its own, and what it has used so far."""

from __future__ import annotations

import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import msgspec
import psutil

from tidegate.cli.ledger.reading import open_reader
from tidegate.cluster.processes import Process, spawn, stop
from tidegate.ports import free_ports

READY_S, CALM_S, SEED = 1_800, 1, 1
OK = 200


class Server:
    """A server that runs, and what it has used."""

    def __init__(self, port: int, process: Process) -> None:
        self.port, self.pid, self._process = port, process.pid, process
        self._watched = psutil.Process(process.pid)
        self._begun = time.monotonic()

    def since_s(self) -> float:
        """Return how long ago it was started."""
        return time.monotonic() - self._begun

    def cpu_s(self) -> float:
        """Return the CPU seconds that it has used."""
        used = self._watched.cpu_times()
        return used.user + used.system

    def mib(self) -> float:
        """Return the memory that it holds now."""
        return float(self._watched.memory_info().rss / 2**20)

    def ask(self, path: str) -> bytes:
        """Return the answer to a request; anything but 200 ends the bench."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=600)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        assert answer.status == OK, (path, answer.status, body[:300])
        return body

    def wait_ready(self) -> None:
        """Wait until it answers."""
        until = time.monotonic() + READY_S
        while time.monotonic() < until and psutil.pid_exists(self._process.pid):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise SystemExit("the server is not ready")

    def wait_indexed(self) -> None:
        """Wait until its index is made."""
        while True:
            about = msgspec.json.decode(self.ask("/v1/ledger"))
            if about["verifiedSeq"] >= about["headSeq"]:
                return
            time.sleep(CALM_S)


def some_keys(file: Path, count: int) -> list[str]:
    """Return keys of workloads of the whole history, the same ones each time."""
    with open_reader(str(file), reports=False) as reader:
        assert reader.database is not None
        rows = reader.database.select("SELECT workload FROM report_workload WHERE partition = 0")
    keys = [str(key) for (key,) in rows]
    return Random(SEED).sample(keys, min(count, len(keys)))


@contextmanager
def run_server(ledger: str) -> Generator[Server]:
    """Lend a server of a ledger, which may not answer yet."""
    (port,) = free_ports(1)
    words = ["serve", "--ledger", ledger, "--port", str(port), "--rate", "100000"]
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tidegate.cli.main", *words]
        process = spawn("serve", command, Path(folder) / "serve.log")
        try:
            yield Server(port, process)
        finally:
            stop(process)
