"""No job runs that cannot be charged or placed, and another controller's is left alone."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.acts.batch_job import batch_job
from tests.e2e.cast import job_of, until
from tests.e2e.living import conditions
from tests.e2e.ordeal import alone
from tests.e2e.test_job_kinds import kueue
from tidegate.cluster.install import apply
from tidegate.cluster.running import run_services
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

pytestmark = [pytest.mark.real, pytest.mark.slow]  # three services, four Jobs
Object = dict[str, Any]
NAME = "uncharged"
JOBS = f"/apis/batch/v1/namespaces/{NAME}/jobs"
PRIORITY = "kueue.x-k8s.io/priority-class"
DEVICES = {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpus.example.com"}}]}
CLAIM: Object = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": NAME, "namespace": NAME},
    "spec": {"spec": {"devices": DEVICES}},
}
TOPOLOGY = kueue("Topology", NAME, spec={"levels": [{"nodeLabel": "kubernetes.io/hostname"}]})


def objects() -> list[Object]:
    """Return a queue that can admit, and one whose flavor names a Topology that is not there."""
    placed = {"nodeLabels": {"pool": "gpus"}, "topologyName": NAME}
    made = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}},
        CLAIM,
        kueue("ResourceFlavor", NAME, spec={}),
        kueue("ResourceFlavor", f"{NAME}-placed", spec=placed),
        {**kueue("WorkloadPriorityClass", NAME), "value": 7},
    ]
    for name in (NAME, f"{NAME}-placed"):
        quotas = [{"name": "cpu", "nominalQuota": "100"}]
        group = {"coveredResources": ["cpu"], "flavors": [{"name": name, "resources": quotas}]}
        queue: Object = {"namespaceSelector": {}, "resourceGroups": [group]}
        made += [
            kueue("ClusterQueue", name, spec=queue),
            kueue("LocalQueue", name, NAME, spec={"clusterQueue": name}),
        ]
    return made


async def submit(api: KubernetesApi, job: Object) -> None:
    answer = await api.request("POST", JOBS, body=msgspec.json.encode(job))
    assert answer.status == 201, answer.body


async def waits(api: KubernetesApi, name: str, reason: str, message: str) -> bool:
    """Tell whether the Workload of a Job has no quota, for this reason and in these words."""
    uid = (await job_of(api, NAME, name))["metadata"]["uid"]
    path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{NAME}/workloads"
    query = {"labelSelector": f"kueue.x-k8s.io/job-uid={uid}"}
    items = msgspec.json.decode((await api.request("GET", path, query=query)).body)["items"]
    shown = [text for workload in items for text in conditions(workload)]
    messages = [
        condition["message"]
        for condition in items
        for condition in condition.get("status", {}).get("conditions", ())
    ]
    return f"QuotaReserved=False {reason}" in shown and any(message in text for text in messages)


async def inactive(api: KubernetesApi) -> bool:
    path = f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{NAME}-placed"
    obj = msgspec.json.decode((await api.request("GET", path)).body)
    current_conditions = obj.get("status", {}).get("conditions", ())
    text = f"there is no Topology {NAME}."
    return any(
        text in condition["message"] and condition["status"] == "False"
        for condition in current_conditions
    )


async def test_what_cannot_be_charged_or_placed_waits_and_says_why(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    for obj in objects():
        await apply(api, obj)
    claiming, placed = batch_job("claims", NAME, 1), batch_job("placed", f"{NAME}-placed", 1)
    claims = [{"name": "gpus", "resourceClaimTemplateName": NAME}]
    claiming["spec"]["template"]["spec"]["resourceClaims"] = claims
    elsewhere, classed = batch_job("elsewhere", NAME, 1), batch_job("classed", NAME, 1)
    elsewhere["spec"]["managedBy"] = "example.com/other"
    classed["metadata"]["labels"] |= {PRIORITY: NAME, "kueue.x-k8s.io/queue-name": "no-such"}
    async with run_services(alone(tmp_path, own_api), print):
        for job in (claiming, placed, elsewhere, classed):
            await submit(api, job)
        text = "device class gpus.example.com is in no resources.deviceClassMappings"
        await until(partial(waits, api, "claims", "AdmissionGated", text), "claims says why")
        await until(partial(waits, api, "placed", "Suspended", "is inactive"), "placed waits")
        await until(lambda: inactive(api), "its ClusterQueue says which Topology is missing")
        await apply(api, TOPOLOGY)  # now it is placed, and its flavor has no nodes
        text = "the flavor has no nodes with label kubernetes.io/hostname"
        await until(partial(waits, api, "placed", "TopologyPlacementFailed", text), "no nodes")
        body = msgspec.json.encode({"metadata": {"labels": {PRIORITY: None}}})
        answer = await api.request("PATCH", f"{JOBS}/classed", body=body, content_type=MERGE_PATCH)
        assert (answer.status, b"not be removed" in answer.body) == (422, True), answer.body
        assert not (await job_of(api, NAME, "elsewhere"))["spec"]["suspend"]
