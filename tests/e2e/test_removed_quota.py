"""A ClusterQueue and a ResourceFlavor that are deleted stay charged for what runs there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.cast import (
    KUEUE,
    events_of,
    eventually,
    job_of,
    make_queues,
    remove,
    submit,
    until,
)
from tests.e2e.ordeal import alone
from tidegate.cluster.running import run_services
from tidegate.contracts.decisions import ClusterQueueReleased, WorkloadPending
from tidegate.kube.ports import KubernetesApi

pytestmark = [pytest.mark.real, pytest.mark.slow]
QUOTAS = {"leaves": "2", "stays": "2"}


async def runs(api: KubernetesApi, namespace: str, name: str) -> bool:
    return bool((await job_of(api, namespace, name)).get("status", {}).get("active"))


async def delete(api: KubernetesApi, plural: str, name: str) -> None:
    assert (await api.request("DELETE", f"/apis/{KUEUE}/{plural}/{name}")).status == 200


async def test_quota_of_what_runs_outlasts_its_queue_and_its_flavor(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, QUOTAS, cohort="both")
    async with run_services(alone(tmp_path, own_api), print) as running:
        await submit(api, "leaves", "borrower", cpu="4", seconds=3_600)
        await until(lambda: runs(api, "leaves", "borrower"), "the first runs on all quota")
        await delete(api, "clusterqueues", "leaves")
        await submit(api, "stays", "next", cpu="2", seconds=1)
        await eventually(lambda: waits(running.ledger, "next"), "the second waits for quota")
        await delete(api, "resourceflavors", "any")
        await remove(api, "leaves", "borrower")
        await eventually(lambda: is_released(running.ledger, "leaves"), "it is free")
        assert not await runs(api, "stays", "next")  # of a flavor that is not there
        await make_queues(api, {"stays": "2"}, cohort="both")
        await until(lambda: runs(api, "stays", "next"), "the second runs")


def is_released(ledger: str, queue: str) -> bool:
    return any(event.cluster_queue == queue for event in events_of(ledger, ClusterQueueReleased))


def waits(ledger: str, name: str) -> bool:
    decisions = [
        decision
        for decision in events_of(ledger, WorkloadPending)
        if decision.workload.startswith(f"stays/job-{name}-")
    ]
    return any(decision.reason == "WaitingForQuota" for decision in decisions)
