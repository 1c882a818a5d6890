"""Workloads that a user makes directly are queued, admitted and charged like any job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.cast import KUEUE, make_queues, tidegate, until
from tests.e2e.living import Living
from tests.e2e.ordeal import alone
from tidegate.cluster.running import run_services
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

pytestmark = pytest.mark.real
NAMESPACE = "direct"
WORKLOADS = f"/apis/{KUEUE}/namespaces/{NAMESPACE}/workloads"
FINISHED = {
    "type": "Finished",
    "status": "True",
    "reason": "Succeeded",
    "message": "Its owner says so.",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


async def make_workload(api: KubernetesApi, name: str) -> None:
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "2"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    podset = {"name": "main", "count": 1, "template": template}
    manifest = {"metadata": {"name": name}, "spec": {"queueName": NAMESPACE, "podSets": [podset]}}
    head = {"apiVersion": KUEUE, "kind": "Workload"}
    answer = await api.request("POST", WORKLOADS, body=msgspec.json.encode(head | manifest))
    assert answer.status == 201, answer.body


async def status(api: KubernetesApi, name: str) -> dict[str, Any]:
    answer = await api.request("GET", f"{WORKLOADS}/{name}")
    fields: dict[str, Any] = msgspec.json.decode(answer.body)["status"]
    return fields


async def holding(api: KubernetesApi, kind: str, value: str = "True") -> list[str]:
    """Return the Workloads that have a condition."""
    items = msgspec.json.decode((await api.request("GET", WORKLOADS)).body)["items"]
    mapping = {
        workload["metadata"]["name"]: workload.get("status", {}).get("conditions", [])
        for workload in items
    }
    return [
        name
        for name, conditions in mapping.items()
        if any(
            (condition["type"], condition["status"]) == (kind, value) for condition in conditions
        )
    ]


async def finish(api: KubernetesApi, name: str) -> None:
    """Say that a Workload is done, as the controller that runs its pods does."""
    conditions = [*(await status(api, name))["conditions"], FINISHED]
    body = msgspec.json.encode({"status": {"conditions": conditions}})
    path = f"{WORKLOADS}/{name}/status"
    answer = await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
    assert answer.status == 200, answer.body


async def test_two_workloads_share_a_quota_that_holds_one(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, {NAMESPACE: "2"})

    def admitted(count: int) -> Callable[[], Any]:
        async def holds() -> bool:
            return len(await holding(api, "Admitted")) == count

        return holds

    async with run_services(alone(tmp_path, own_api), print) as running:
        for name in ("one", "two"):
            await make_workload(api, name)
        await until(admitted(1), "one is admitted")
        (first,) = await holding(api, "Admitted")
        given = (await status(api, first))["admission"]
        assert given["clusterQueue"] == NAMESPACE
        assert given["podSetAssignments"][0]["flavors"] == {"cpu": "any"}
        (second,) = {"one", "two"} - {first}
        assert second not in await holding(api, "QuotaReserved")
        await Living(api, NAMESPACE).shows(second, "QuotaReserved=False WaitingForQuota")
        await finish(api, first)
        await until(admitted(2), "the other follows")
        story = tidegate("why", f"{NAMESPACE}/{second}", "--ledger", running.ledger)
        assert "WaitingForQuota" in story
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)
