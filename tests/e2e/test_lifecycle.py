"""What people do to Workloads and queues while they wait and run, on a real API server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.cast import Object, events_of, make_queues, tidegate
from tests.e2e.living import Living, clear, configured
from tests.e2e.ordeal import alone
from tidegate.cluster.running import RunningServices, run_services
from tidegate.contracts.decisions import WorkloadEvicted, WorkloadRequeued
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
TIMES = """
waitForPodsReady:
  timeout: 10s
  requeuingStrategy: {backoffBaseSeconds: 5, backoffLimitCount: 1}
objectRetentionPolicies:
  workloads: {afterFinished: 2s}
"""


def audit(running: RunningServices) -> None:
    tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)


async def test_queues_are_held_drained_and_opened_again(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, {"stops": "2"})
    life = Living(api, "stops")
    async with run_services(alone(tmp_path, own_api), print) as running:
        await life.make("runs", cpu="2")
        await life.shows("runs", "Admitted=True Admitted")
        await life.stop_queue("clusterqueues", "Hold")
        await life.make("waits", cpu="2", priority=-1)  # a second is as fine as ages are
        await life.shows("waits", "QuotaReserved=False Suspended")
        await life.shows("runs", "Admitted=True Admitted")
        await life.stop_queue("clusterqueues", "HoldAndDrain")
        await life.shows("runs", "Evicted=True ClusterQueueStopped", "Admitted=False NoReservation")
        await life.stop_queue("clusterqueues", "None")
        await life.shows("runs", "Requeued=True ClusterQueueRestarted", "Admitted=True Admitted")
        await life.stop_queue("localqueues", "HoldAndDrain")
        await life.shows("runs", "Evicted=True LocalQueueStopped", "QuotaReserved=False Suspended")
        await life.stop_queue("localqueues", "None")
        await life.shows("runs", "Requeued=True LocalQueueRestarted", "Admitted=True Admitted")
        audit(running)


async def test_owners_change_their_minds(api: KubernetesApi, own_api: str, tmp_path: Path) -> None:
    await make_queues(api, {"minds": "2"})
    life = Living(api, "minds")
    async with run_services(alone(tmp_path, own_api), print) as running:
        await life.make("runs", pods=2)
        await life.shows("runs", "Admitted=True Admitted")
        await life.make("astray", queueName="nowhere", priority=1)
        await life.shows("astray", "QuotaReserved=False Misconfigured")
        await life.make("later")
        await life.shows("later", "QuotaReserved=False WaitingForQuota")
        await life.wish("astray", queueName="minds", priority=0)
        await life.wish("later", priority=5)
        await life.say("runs", reclaimablePods=[{"name": "main", "count": 1}])
        await life.shows("later", "Admitted=True Admitted")
        await life.wish("later", active=False)
        await life.shows("later", "Evicted=True Deactivated", "QuotaReserved=False Deactivated")
        await life.shows("astray", "Admitted=True Admitted")
        await life.wish("later", active=True)
        await life.shows(
            "later", "Requeued=True Reactivated", "QuotaReserved=False WaitingForQuota"
        )
        await life.delete("astray")
        await life.shows("later", "Admitted=True Admitted")
        await life.delete("runs")
        audit(running)


def requeues(obj: Object) -> int:
    """Return how often a Workload says that it has come back."""
    return int(obj["status"].get("requeueState", {}).get("count", 0))


def evicted(running: RunningServices, key: str) -> list[tuple[str, int]]:
    """Return why a workload was evicted, and how often it has come back by then."""
    events = events_of(running.ledger, WorkloadEvicted)
    return [(event.reason, event.attempts) for event in events if event.workload == key]


def requeued(running: RunningServices, key: str) -> list[str]:
    """Return why a workload was queued again."""
    return [
        decision.reason
        for decision in events_of(running.ledger, WorkloadRequeued)
        if decision.workload == key
    ]


async def test_time_evicts_deactivates_and_deletes(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, {"times": "4"})
    life = Living(api, "times")
    async with run_services(configured(tmp_path, own_api, TIMES), print) as running:
        await life.make("never-ready")
        await life.make("ready")
        await life.make("long", maximumExecutionTimeSeconds=10)
        for name in ("ready", "long"):
            await life.shows(name, "Admitted=True Admitted")
            await life.add(name, "PodsReady", "Started")
        await life.shows("never-ready", "Evicted=True PodsReadyTimeout")
        await life.until("never-ready", lambda obj: requeues(obj) == 1, "counts")
        await life.shows("never-ready", "Requeued=True BackoffFinished", "Admitted=True Admitted")
        await life.shows("long", "Evicted=True DeactivatedDueToMaximumExecutionTimeExceeded")
        await life.until("long", lambda obj: obj["spec"]["active"] is False, "is deactivated")
        await life.shows("never-ready", "Evicted=True DeactivatedDueToRequeuingLimitExceeded")
        assert evicted(running, "times/never-ready") == [
            ("PodsReadyTimeout", 1),
            ("Deactivated", 0),
        ]
        assert "BackoffFinished" in requeued(running, "times/never-ready")
        await life.shows("ready", "Admitted=True Admitted", "PodsReady=True Started")
        await life.finish("ready")
        await life.until("ready", lambda obj: not obj, "is deleted after its retention")
        audit(running)


async def test_one_is_admitted_after_the_other_was_ready(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await clear(api)  # a workload anywhere that holds quota and is not ready blocks all others
    await make_queues(api, {"turns": "4"})
    life, blocking = Living(api, "turns"), "waitForPodsReady: {blockAdmission: true}\n"
    async with run_services(configured(tmp_path, own_api, blocking), print) as running:
        await life.make("first")
        await life.shows("first", "Admitted=True Admitted")
        await life.make("second")
        await life.shows("second", "QuotaReserved=False WaitingForPodsReady")
        await life.add("first", "PodsReady", "Started")
        await life.shows("second", "Admitted=True Admitted")
        audit(running)
