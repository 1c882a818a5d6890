"""What the faults strike: a control plane, a PostgreSQL, a bus and the three services."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.e2e.cast import make_queues
from tests.e2e.observer import Observer
from tests.parts import postgresql
from tests.parts.kubernetes import bring_up, controllers_run
from tidegate.cluster.go.building import build
from tidegate.cluster.go.plane import ControlPlane
from tidegate.cluster.install import install, manifests_folder
from tidegate.cluster.progress import ProgressLines
from tidegate.cluster.running import RunningServices, RunOptions, run_services
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import KubernetesApi

QUOTAS = {"chaos-a": "6", "chaos-b": "4", "chaos-probe": "2"}
"""CPUs of each queue; a job of the last always finds room, so that it shows which services work."""
PROBE = "chaos-probe"


@dataclass(frozen=True, slots=True)
class Ground:
    """Every part, and the watchers of it."""

    api: KubernetesApi
    plane: ControlPlane
    postgres: postgresql.Server | None  # None: the ledger is SQLite
    running: RunningServices
    state: Path
    observer: Observer
    random: Random


@asynccontextmanager
async def ground(folder: Path, lines: ProgressLines, seed: int) -> AsyncGenerator[Ground]:
    """Bring everything up below a folder and lend it; take it down at the end."""
    plane = ControlPlane(folder / "control-plane", build(lines.progress))
    with ExitStack() as stack:
        stack.callback(plane.remove)
        bring_up(plane, folder, os.getpid())
        await controllers_run(plane)
        postgres = stack.enter_context(_postgresql())
        ledger = "" if postgres is None else postgres.new_database()
        wanted = RunOptions(state=folder / "state", kubeconfig=plane.kubeconfig, ledger=ledger)
        async with connect(Access(kubeconfig=str(plane.kubeconfig))) as api:
            await install(api, manifests_folder(), lines.write_line)
            await make_queues(api, QUOTAS)
            quota_milli = sum(int(cpus) for cpus in QUOTAS.values()) * 1_000
            observer = Observer(api, QUOTAS, quota_milli)
            async with run_services(wanted, lines.write_line) as running:
                yield Ground(api, plane, postgres, running, wanted.state, observer, Random(seed))


@contextmanager
def _postgresql() -> Iterator[postgresql.Server | None]:
    programs = postgresql.binaries()
    if programs is None:
        yield None
        return
    with postgresql.own_server(programs) as server:
        yield server
