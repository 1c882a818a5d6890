"""Tidegate comes to a cluster as Kueue leaves it: Jobs with Workloads, reservations, finalizers."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec
import pytest

from tests.e2e.cast import (
    KUEUE,
    Object,
    events_of,
    job_of,
    make_queues,
    submit,
    tidegate,
    unsuspend,
    until,
)
from tests.e2e.ordeal import alone
from tidegate.cluster.running import run_services
from tidegate.contracts.decisions import StopOrdered
from tidegate.contracts.facts import WorkloadAdopted
from tidegate.jobs.job_metadata import workload_key
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

pytestmark = pytest.mark.real
NAMESPACE = "left"
WORKLOADS = f"/apis/{KUEUE}/namespaces/{NAMESPACE}/workloads"
IN_USE = "kueue.x-k8s.io/resource-in-use"
PODSET = {"name": "main", "count": 1, "flavors": {"cpu": "any"}, "resourceUsage": {"cpu": "2"}}
ADMISSION = {"clusterQueue": NAMESPACE, "podSetAssignments": [PODSET]}


def condition(kind: str) -> Object:
    at = "2026-01-01T00:00:00Z"
    fields = {"type": kind, "status": "True", "reason": kind, "message": ""}
    return {**fields, "lastTransitionTime": at}


async def leave(api: KubernetesApi, name: str, *conditions: str) -> None:
    """Make a Job, and its Workload with the conditions that Kueue had given it."""
    await submit(api, NAMESPACE, name, cpu="2", seconds=3_600 if name == "runs" else 1)
    job = await job_of(api, NAMESPACE, name)
    uid = job["metadata"]["uid"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}
    path = workload_key("Job", "batch", NAMESPACE, name, uid).partition("/")[2]
    template = {"spec": job["spec"]["template"]["spec"]}
    podset = {"name": "main", "count": 1, "template": template}
    metadata = {"name": path, "ownerReferences": [owner], "finalizers": [IN_USE]}
    head: Object = {"apiVersion": KUEUE, "kind": "Workload", "metadata": metadata}
    made = {**head, "spec": {"queueName": NAMESPACE, "podSets": [podset]}}
    answer = await api.request("POST", WORKLOADS, body=msgspec.json.encode(made))
    assert answer.status == 201, answer.body
    status: Object = {"conditions": [condition(kind) for kind in conditions]}
    status |= {"admission": ADMISSION} if conditions else {}
    body = msgspec.json.encode({"status": status})
    path = f"{WORKLOADS}/{path}/status"
    answer = await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
    assert answer.status == 200, answer.body


async def is_complete(api: KubernetesApi, name: str) -> bool:
    return bool((await job_of(api, NAMESPACE, name)).get("status", {}).get("succeeded"))


def concerned(ledger: str, kind: type[WorkloadAdopted | StopOrdered]) -> set[str]:
    """Return the workloads of this namespace that events of one type are about."""
    keys = [event.workload for event in events_of(ledger, kind)]
    return {key.rpartition("-")[0] for key in keys if key.startswith(f"{NAMESPACE}/")}


async def are_ours(api: KubernetesApi) -> bool:
    """Tell whether every Workload is the ledger's, and no finalizer of Kueue's holds it."""
    items = msgspec.json.decode((await api.request("GET", WORKLOADS)).body)["items"]
    metas = [workload["metadata"] for workload in items]
    marked = ["tidegate.dev/decision" in meta.get("annotations", {}) for meta in metas]
    return len(marked) == 3 and all(marked) and not any(meta.get("finalizers") for meta in metas)


@pytest.mark.slow
async def test_what_kueue_admitted_is_adopted_and_what_it_queued_waits(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, {NAMESPACE: "4"})
    await leave(api, "runs", "QuotaReserved", "Admitted")
    await leave(api, "starts", "QuotaReserved")  # Kueue went before it unsuspended the Job
    await leave(api, "waits")
    await unsuspend(api, NAMESPACE, "runs")
    before = (await job_of(api, NAMESPACE, "runs"))["metadata"]["generation"]
    async with run_services(alone(tmp_path, own_api), print) as running:
        for name in ("starts", "waits"):
            await until(partial(is_complete, api, name), f"the Job that {name} completes")
        assert concerned(running.ledger, WorkloadAdopted) == {"left/job-runs", "left/job-starts"}
        assert concerned(running.ledger, StopOrdered) == set()
        assert (await job_of(api, NAMESPACE, "runs"))["metadata"]["generation"] == before
        await until(lambda: are_ours(api), "the Workloads are Tidegate's")
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)
