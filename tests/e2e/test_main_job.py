"""The main job on a real control plane: one Job runs, gives its quota back, the next starts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.e2e.cast import eventually, job_of, make_queues, submit, tidegate
from tests.e2e.observer import Observer
from tidegate.cluster.running import RunOptions, run_services
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
JOBS = ("one", "two")


async def test_two_jobs_share_a_quota_that_holds_one(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, {"first": "2"})
    observer = Observer(api, ["first"], quota_milli=2_000)
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(observer.run())
        wanted = RunOptions(state=tmp_path, kubeconfig=Path(own_api))
        async with run_services(wanted, print) as running:
            for job in JOBS:
                await submit(api, "first", job, cpu="1500m", seconds=2)
            await eventually(lambda: observer.completed() == 2, "both Jobs complete")
            ledger = ("--ledger", running.ledger)
            stories = [tidegate("why", f"job/{job}", "-n", "first", *ledger) for job in JOBS]
            # They may be of one second, and then the smaller uid goes first.
            assert sum("WaitingForQuota" in story for story in stories) == 1
            assert observer.most_milli == 1_500
            tidegate("ledger", "verify", *ledger, "--witness", running.nats_url)
        watching.cancel()
    assert observer.violations == []
    for job in JOBS:
        marks = (await job_of(api, "first", job))["metadata"]["annotations"]
        assert marks["tidegate.dev/decision"].count("/") == 1
