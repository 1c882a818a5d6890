"""Tidegate comes to Jobs that run already: it takes them as they are, and stops none."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.cast import (
    events_of,
    eventually,
    job_of,
    make_queues,
    remove,
    submit,
    tidegate,
    unsuspend,
    until,
)
from tests.e2e.ordeal import CPUS, alone
from tidegate.bus.embedded import embedded_server
from tidegate.cluster.running import RunningServices, run_services
from tidegate.contracts.decisions import StopOrdered, WorkloadPending
from tidegate.contracts.facts import WorkloadAdopted
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
FOREVER_S = 3_600.0


async def generations(api: KubernetesApi, namespace: str, names: Sequence[str]) -> list[int]:
    """Return how often the spec of each Job was written: a stop, too, would write it."""
    jobs = [await job_of(api, namespace, name) for name in names]
    assert not any(job["spec"].get("suspend") for job in jobs)
    return [job["metadata"]["generation"] for job in jobs]


async def is_active(api: KubernetesApi, namespace: str, names: Sequence[str]) -> bool:
    jobs = [await job_of(api, namespace, name) for name in names]
    return all(job.get("status", {}).get("active") for job in jobs)


async def is_complete(api: KubernetesApi, namespace: str, name: str) -> bool:
    return bool((await job_of(api, namespace, name)).get("status", {}).get("succeeded"))


async def check_adopted(
    api: KubernetesApi, running: RunningServices, namespace: str, names: Sequence[str]
) -> None:
    """Demand that running Jobs of 2 CPUs each are charged and left alone, and others wait."""
    ledger, before = running.ledger, await generations(api, namespace, names)
    await submit(api, namespace, "new", cpu="2", seconds=1)
    await eventually(lambda: held(ledger, f"{namespace}/job-new"), "the new job waits")
    adopted = [
        event for event in events_of(ledger, WorkloadAdopted) if event.cluster_queue == namespace
    ]
    assert [event.assignment[0].usage["cpu"] for event in adopted] == [2_000] * len(names)
    stopped = {decision.workload for decision in events_of(ledger, StopOrdered)}
    assert not stopped & {event.workload for event in adopted}
    assert await generations(api, namespace, names) == before
    for name in names:
        await remove(api, namespace, name)
    await until(lambda: is_complete(api, namespace, "new"), "quota comes back to the new job")
    tidegate("ledger", "verify", "--ledger", ledger, "--witness", running.nats_url)


def held(ledger: str, workload: str) -> bool:
    held = [
        decision
        for decision in events_of(ledger, WorkloadPending)
        if decision.workload.startswith(workload)
    ]
    return any(decision.reason == "WaitingForQuota" for decision in held)


async def test_jobs_that_another_controller_started_are_adopted_even_above_quota(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    names = ("old-1", "old-2", "old-3")
    await make_queues(api, {"cold": str(CPUS)})
    for name in names:
        await submit(api, "cold", name, cpu="2", seconds=FOREVER_S)
        await unsuspend(api, "cold", name)
    await until(lambda: is_active(api, "cold", names), "they run")
    async with run_services(alone(tmp_path, own_api), print) as running:
        await check_adopted(api, running, "cold", names)


@pytest.mark.slow
async def test_the_ledger_is_lost_and_what_it_admitted_is_adopted(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    names, wanted = ("old-1", "old-2"), alone(tmp_path, own_api)
    await make_queues(api, {"lost-ledger": str(CPUS)})
    async with run_services(wanted, print):
        for name in names:
            await submit(api, "lost-ledger", name, cpu="2", seconds=FOREVER_S)
        await until(lambda: is_active(api, "lost-ledger", names), "they run")
    for part in tmp_path.glob("ledger.db*"):
        part.unlink()
    async with run_services(wanted, print) as running:
        await check_adopted(api, running, "lost-ledger", names)


@pytest.mark.slow
async def test_a_ledger_restored_from_a_backup_adopts_what_its_lost_tail_had_started(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    names, wanted = ("old-1", "old-2"), alone(tmp_path, own_api)
    ledger, backup = tmp_path / "ledger.db", tmp_path / "backup.db"
    await make_queues(api, {"restored": str(CPUS)})
    async with run_services(wanted, print):
        copy_database(ledger, backup)
        for name in names:
            await submit(api, "restored", name, cpu="2", seconds=FOREVER_S)
        await until(lambda: is_active(api, "restored", names), "they run")
    for part in tmp_path.glob("ledger.db*"):
        part.unlink()
    backup.rename(ledger)
    async with embedded_server(tmp_path / "nats") as bus:
        recover = ("ledger", "recover", "--bus", bus, "--ledger", f"sqlite:///{ledger}")
        await asyncio.to_thread(tidegate, *recover)
    async with run_services(wanted, print) as running:
        await check_adopted(api, running, "restored", names)


def copy_database(source: Path, target: Path) -> None:
    """Copy a SQLite database that is written to meanwhile, as a backup does."""
    with closing(sqlite3.connect(source)) as open_source, closing(sqlite3.connect(target)) as copy:
        open_source.backup(copy)
