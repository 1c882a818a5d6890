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
from tests.e2e.living import Living
from tests.e2e.ordeal import alone
from tests.e2e.test_visibility import reached, register, serve, unregister
from tidegate.cluster.processes import stop
from tidegate.cluster.running import Running, run_services
from tidegate.kube.client import Access, connect
from tidegate.kube.ports import KubernetesApi

__all__ = ["kueuectl"]

pytestmark = [pytest.mark.real, pytest.mark.slow]


class Cli:
    """kueuectl, run as somebody who may do all."""

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
async def served(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> AsyncIterator[tuple[Living, Running]]:
    """Lend queues, services, and a server that answers Kueue's visibility API."""
    await make_queues(api, {"kctl": "2"})
    async with run_services(alone(tmp_path, own_api), print) as running:
        process, port, certificate = serve(own_api, running.ledger, tmp_path)
        async with connect(Access(kubeconfig=own_api)) as admin:
            await register(admin, port, certificate)
            await reached(admin)
            yield Living(api, "kctl"), running
            await unregister(admin)
        stop(process, signal.SIGTERM)


async def test_kueuectl_lists_queues_and_positions_and_stops_and_resumes(
    served: tuple[Living, Running], own_api: str, kueuectl: Path
) -> None:
    life, _ = served
    cli = Cli(kueuectl, own_api)
    await life.make("runs", cpu="2")
    await life.shows("runs", "Admitted=True Admitted")
    for name, priority in (("first", 9), ("second", 5), ("third", 1)):
        await life.make(name, cpu="2", priority=priority)
        await life.shows(name, "QuotaReserved=False WaitingForQuota")

    async def placed() -> bool:
        rows = cli.lists("workload", "-n", "kctl")
        positions = {name: row["POSITION IN QUEUE"] for name, row in rows.items()}
        return positions == {"runs": "", "first": "0", "second": "1", "third": "2"}

    await until(placed, "kueuectl lists positions", 60)
    rows = cli.lists("workload", "-n", "kctl")
    assert {name: row["STATUS"] for name, row in rows.items()} == {
        "runs": "ADMITTED",
        "first": "PENDING",
        "second": "PENDING",
        "third": "PENDING",
    }
    assert rows["first"]["LOCALQUEUE"] == rows["first"]["CLUSTERQUEUE"] == "kctl"

    async def counted() -> bool:
        (cluster,) = (cli.lists("clusterqueue")["kctl"],)
        local = cli.lists("localqueue", "-n", "kctl")["kctl"]
        counts = {(row["PENDING WORKLOADS"], row["ADMITTED WORKLOADS"]) for row in (cluster, local)}
        return counts == {("3", "1")}

    await until(counted, "kueuectl lists what waits and runs", 60)
    cli.says("stop", "clusterqueue", "kctl", "--keep-already-running")
    await life.shows("first", "QuotaReserved=False Suspended")
    await life.shows("runs", "Admitted=True Admitted")
    cli.says("resume", "clusterqueue", "kctl")
    cli.says("stop", "localqueue", "kctl", "-n", "kctl", "--keep-already-running")
    cli.says("resume", "localqueue", "kctl", "-n", "kctl")
    cli.says("stop", "workload", "runs", "-n", "kctl", "--yes")
    await life.shows("runs", "Evicted=True Deactivated")
    await life.shows("first", "Admitted=True Admitted")
    cli.says("resume", "workload", "runs", "-n", "kctl")
    await life.shows("runs", "QuotaReserved=False WaitingForQuota")
