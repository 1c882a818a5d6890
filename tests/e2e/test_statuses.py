"""What queues, cohorts and Workloads show of themselves on a real API server, as users see it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.e2e.cast import KUEUE, Object, submit, until
from tidegate.cluster.install import apply
from tidegate.cluster.running import RunningServices, RunOptions, run_services
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

pytestmark = pytest.mark.real
FAIR = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare"]},
}
MULTIKUEUE = "kueue.x-k8s.io/multikueue"
ACTIVE = {
    "type": "Active",
    "status": "True",
    "reason": "Left",
    "message": "Another controller said so.",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


@asynccontextmanager
async def house(state: Path, kubeconfig: str) -> AsyncGenerator[RunningServices]:
    """Run the services with fair sharing."""
    config = state / "config.yaml"
    config.write_text(yaml.safe_dump(FAIR))
    wanted = RunOptions(state=state, kubeconfig=Path(kubeconfig), config=str(config))
    async with run_services(wanted, print) as running:
        yield running


async def make(api: KubernetesApi, kind: str, name: str, **spec: object) -> None:
    """Make one of Kueue's objects; a LocalQueue in the namespace of its name, made before it."""
    place = {"namespace": name} if kind == "LocalQueue" else {}
    if place:
        await apply(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    metadata = {"name": name, **place}
    await apply(api, {"apiVersion": KUEUE, "kind": kind, "metadata": metadata, "spec": spec})


def quota(cpu: str) -> list[Object]:
    resources = [{"name": "cpu", "nominalQuota": cpu}]
    return [{"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": resources}]}]


async def shows(api: KubernetesApi, path: str, holds: Callable[[Object], bool]) -> Object:
    """Wait until an object's status is as wanted, and return it."""
    fields: Object = {}

    async def is_so() -> bool:
        answer = await api.request("GET", f"/apis/{KUEUE}/{path}")
        fields.clear()
        fields.update(msgspec.json.decode(answer.body).get("status", {}))
        return holds(fields)

    await until(is_so, f"{path} shows it")
    return fields


def counts(status: Object) -> tuple[Any, ...]:
    kinds = ("pending", "reserving", "admitted")
    return tuple(status.get(f"{kind}Workloads") for kind in kinds)


def active(status: Object) -> tuple[str, str]:
    current_conditions = [
        condition for condition in status.get("conditions", ()) if condition["type"] == "Active"
    ]
    return (
        (current_conditions[0]["reason"], current_conditions[0]["message"])
        if current_conditions
        else ("", "")
    )


def has_share(wanted: int) -> Callable[[Object], bool]:
    return lambda status: status.get("fairSharing") == {"weightedShare": wanted}


async def test_queues_and_cohorts_show_what_waits_what_is_used_and_their_shares(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make(api, "ResourceFlavor", "any")
    await make(api, "Cohort", "st-root", resourceGroups=quota("2"))
    await make(api, "Cohort", "st-team", parentName="st-root", fairSharing={"weight": "0.5"})
    fields: Object = {"cohortName": "st-team", "namespaceSelector": {}}
    await make(api, "ClusterQueue", "st-queue", resourceGroups=quota("1"), **fields)
    await make(api, "LocalQueue", "st-queue", clusterQueue="st-queue")
    local = "namespaces/st-queue/localqueues/st-queue"
    async with house(tmp_path, own_api):
        for name in ("runs", "waits"):
            await submit(api, "st-queue", name, cpu="2", seconds=3_600)
        queue = await shows(
            api, "clusterqueues/st-queue", lambda status: counts(status) == (1, 1, 1)
        )
        used = {"name": "cpu", "total": "2"}
        borrowed = [{"name": "any", "resources": [{**used, "borrowed": "1"}]}]
        assert queue["flavorsReservation"] == queue["flavorsUsage"] == borrowed
        assert active(queue)[0] == "Ready"
        led = await shows(api, local, lambda status: counts(status) == (1, 1, 1))
        own = [{"name": "any", "resources": [used]}]
        assert led["flavorsReservation"] == led["flavorsUsage"] == own
        assert active(led)[0] == "Ready"
        # 1 borrowed of 3 that could be; the cohort, of half the weight, borrows as much.
        await shows(api, "clusterqueues/st-queue", has_share(334))
        await shows(api, "cohorts/st-team", has_share(667))
        await shows(api, "cohorts/st-root", has_share(0))


async def test_a_queue_that_cannot_admit_says_why_and_so_do_its_local_queues(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make(api, "AdmissionCheck", "st-far", controllerName=MULTIKUEUE)
    body = msgspec.json.encode({"status": {"conditions": [ACTIVE]}})
    path = f"/apis/{KUEUE}/admissionchecks/st-far/status"
    assert (await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)).status == 200
    for name, check in {"st-multi": "st-far", "st-unknown": "st-none"}.items():
        strategy = {"admissionChecks": [{"name": check}]}
        await make(api, "ClusterQueue", name, admissionChecksStrategy=strategy)
    for name, queue in {"st-1": "st-multi", "st-2": "st-absent"}.items():
        await make(api, "LocalQueue", name, clusterQueue=queue)
    async with house(tmp_path, own_api):
        for path, wanted, text in (
            ("clusterqueues/st-multi", "AdmissionCheckInactive", "st-far needs multiKueue"),
            ("clusterqueues/st-unknown", "AdmissionCheckNotFound", "no AdmissionCheck st-none"),
            ("namespaces/st-1/localqueues/st-1", "ClusterQueueIsInactive", ""),
            ("namespaces/st-2/localqueues/st-2", "ClusterQueueDoesNotExist", ""),
        ):
            fields = await shows(api, path, is_shut(wanted))
            assert text in active(fields)[1]


def is_shut(reason: str) -> Callable[[Object], bool]:
    return lambda status: active(status)[0] == reason


async def test_a_workload_deleted_by_hand_is_put_back_and_the_job_runs_on(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make(api, "ResourceFlavor", "any")
    fields: Object = {"namespaceSelector": {}, "resourceGroups": quota("1")}
    await make(api, "ClusterQueue", "st-deleted", **fields)
    await make(api, "LocalQueue", "st-deleted", clusterQueue="st-deleted")
    async with house(tmp_path, own_api):
        await submit(api, "st-deleted", "runs", cpu="1", seconds=3_600)
        await until(lambda: admitted(api, ""), "it is admitted")
        (before,) = await workloads(api)
        path = f"/apis/{KUEUE}/namespaces/st-deleted/workloads/{before['metadata']['name']}"
        assert (await api.request("DELETE", path)).status == 200
        await until(lambda: admitted(api, before["metadata"]["uid"]), "it is shown again")
        jobs = await api.request("GET", "/apis/batch/v1/namespaces/st-deleted/jobs/runs")
        assert msgspec.json.decode(jobs.body)["metadata"]["generation"] == 2


async def workloads(api: KubernetesApi) -> list[Object]:
    answer = await api.request("GET", f"/apis/{KUEUE}/namespaces/st-deleted/workloads")
    documents: list[Object] = msgspec.json.decode(answer.body)["items"]
    return documents


async def admitted(api: KubernetesApi, but: str) -> bool:
    """Tell whether there is an admitted Workload of another uid."""
    current_workloads = [
        workload for workload in await workloads(api) if workload["metadata"]["uid"] != but
    ]
    values = [
        condition
        for workload in current_workloads
        for condition in workload.get("status", {}).get("conditions", ())
    ]
    return any(
        (condition["type"], condition["status"]) == ("Admitted", "True") for condition in values
    )
