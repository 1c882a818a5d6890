"""Kueue's own command line on Tidegate's objects, behind a real API server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.cast import make_queues, until
from tests.e2e.kueuectl import kueuectl
from tests.e2e.living import Living, clear
from tests.e2e.ordeal import alone
from tests.e2e.test_visibility import reached, register, serve, unregister
from tidegate.cluster.processes import stop
from tidegate.cluster.running import run_services
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import KubernetesApi

__all__ = ["kueuectl"]

pytestmark = [pytest.mark.real, pytest.mark.slow]


class Cli:
    """kueuectl, run as a user who may do all."""

    def __init__(self, program: Path, kubeconfig: str) -> None:
        self._program, self._kubeconfig = program, kubeconfig

    def says(self, *words: str) -> str:
        environment = {**os.environ, "KUBECONFIG": self._kubeconfig}
        done = subprocess.run(
            [str(self._program), *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def lists(self, *words: str) -> dict[str, dict[str, str]]:
        """Return the rows of a list by the first column: column to cell."""
        head, *rows = self.says("list", *words).splitlines()
        names = re.split(r"\s{2,}", head.strip())
        begins = [head.index(name) for name in names]
        ends = [*begins[1:], None]
        cells = [
            {name: row[a:b].strip() for name, a, b in zip(names, begins, ends, strict=True)}
            for row in rows
        ]
        return {row["NAME"]: row for row in cells}


@pytest.fixture
async def served(api: KubernetesApi, own_api: str, tmp_path: Path) -> AsyncIterator[Living]:
    """Lend queues, services, and a server that answers Kueue's visibility API."""
    await clear(api)
    await make_queues(api, {"kctl": "2"})
    async with run_services(alone(tmp_path, own_api), print) as running:
        process, port, certificate = serve(own_api, running.ledger, tmp_path)
        async with connect(Access(kubeconfig=own_api)) as admin:
            await register(admin, port, certificate)
            await reached(admin)
            yield Living(api, "kctl")
            await unregister(admin)
        stop(process, signal.SIGTERM)


@pytest.fixture
def cli(kueuectl: Path, own_api: str) -> Cli:
    return Cli(kueuectl, own_api)


async def test_lists_show_positions_and_counts(served: Living, cli: Cli) -> None:
    await served.make("runs", cpu="2")
    await served.shows("runs", "Admitted=True Admitted")
    for name, priority in (("first", 9), ("second", 5), ("third", 1)):
        await served.make(name, cpu="2", priority=priority)
        await served.shows(name, "QuotaReserved=False WaitingForQuota")

    async def placed() -> bool:
        rows = cli.lists("workload", "-n", "kctl")
        positions = {name: row["POSITION IN QUEUE"] for name, row in rows.items()}
        return positions == {"runs": "", "first": "0", "second": "1", "third": "2"}

    await until(placed, "kueuectl lists positions", 60)
    rows = cli.lists("workload", "-n", "kctl")
    assert rows["runs"]["STATUS"] == "ADMITTED"
    assert {rows[name]["STATUS"] for name in ("first", "second", "third")} == {"PENDING"}
    assert rows["first"]["LOCALQUEUE"] == rows["first"]["CLUSTERQUEUE"] == "kctl"

    async def counted() -> bool:
        both = cli.lists("clusterqueue")["kctl"], cli.lists("localqueue", "-n", "kctl")["kctl"]
        counts = {(row["PENDING WORKLOADS"], row["ADMITTED WORKLOADS"]) for row in both}
        return counts == {("3", "1")}

    await until(counted, "kueuectl lists what waits and runs", 60)


async def test_stops_and_resumes_are_obeyed(served: Living, cli: Cli) -> None:
    await served.make("runs", cpu="2", priority=9)
    await served.shows("runs", "Admitted=True Admitted")
    await served.make("waits", cpu="2")
    await served.shows("waits", "QuotaReserved=False WaitingForQuota")
    for words in (("clusterqueue", "kctl"), ("localqueue", "kctl", "-n", "kctl")):
        cli.says("stop", *words, "--keep-already-running")
        await served.shows("waits", "QuotaReserved=False Suspended")
        await served.shows("runs", "Admitted=True Admitted")
        cli.says("resume", *words)
        await served.shows("waits", "QuotaReserved=False WaitingForQuota")
    cli.says("stop", "workload", "runs", "-n", "kctl")
    await served.shows("runs", "Evicted=True Deactivated")
    await served.shows("waits", "Admitted=True Admitted")
    cli.says("resume", "workload", "runs", "-n", "kctl")
    await served.shows("runs", "QuotaReserved=False WaitingForQuota")
