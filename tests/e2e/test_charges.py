"""What the cluster adds to a job's own requests is charged: real objects, up to the reservation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.acts.batch_job import batch_job
from tests.e2e.cast import events_of, eventually
from tests.e2e.test_job_kinds import kueue
from tidegate.cluster.install import apply
from tidegate.cluster.running import RunningServices, RunOptions, run_services
from tidegate.contracts.decisions import QuotaReserved
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
Object = dict[str, Any]
NAME = "charges"
CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
resources:
  excludeResourcePrefixes: [ignored.example.com/]
  deviceClassMappings:
  - {name: example.com/devices, deviceClassNames: [gpus.example.com]}
  transformations:
  - {input: example.com/gpu, strategy: Replace, outputs: {example.com/credits: 10}}
  - {input: memory, multiplyBy: example.com/gpu, outputs: {example.com/shared: 2}}
"""
LIMITS: Object = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": NAME, "namespace": NAME},
    "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "1", "memory": "1"}}]},
}
RUNTIME: Object = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": NAME},
    "handler": "h",
    "overhead": {"podFixed": {"cpu": "500m"}},
}
CLAIM: Object = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": NAME, "namespace": NAME},
    "spec": {
        "spec": {
            "devices": {
                "requests": [
                    {"name": "r", "exactly": {"deviceClassName": "gpus.example.com", "count": 3}}
                ]
            }
        }
    },
}


async def test_a_job_is_charged_what_limits_overhead_and_transformations_make_of_it(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    config = tmp_path / "configuration.yaml"
    config.write_text(CONFIGURATION)
    for obj in objects():
        await apply(api, obj)
    wanted = RunOptions(state=tmp_path, kubeconfig=Path(own_api), config=str(config))
    async with run_services(wanted, print) as running:
        await submit(api)
        await eventually(lambda: bool(charged(running)), "it holds quota")
        assert charged(running) == {
            "cpu": 2 * 1_500,  # two pods: the LimitRange's default and the overhead
            "example.com/credits": 2 * 20,  # in place of two devices each
            "example.com/devices": 2 * 3,  # what each pod's claim asks for
            "example.com/shared": 2 * 4,  # one byte, by two devices, by two
            "memory": 2,
        }


def objects() -> list[Object]:
    names = ["cpu", "memory", "example.com/credits", "example.com/devices", "example.com/shared"]
    quotas = [{"name": name, "nominalQuota": "1000"} for name in names]
    group = {"coveredResources": names, "flavors": [{"name": NAME, "resources": quotas}]}
    queue: Object = {"namespaceSelector": {}, "resourceGroups": [group]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}},
        LIMITS,
        RUNTIME,
        CLAIM,
        kueue("ResourceFlavor", NAME, spec={}),
        kueue("ClusterQueue", NAME, spec=queue),
        kueue("LocalQueue", NAME, NAME, spec={"clusterQueue": NAME}),
    ]


async def submit(api: KubernetesApi) -> None:
    job = batch_job("train", NAME, 1)
    pods = job["spec"]["template"]["spec"]
    pods["runtimeClassName"] = NAME
    pods["resourceClaims"] = [{"name": "gpus", "resourceClaimTemplateName": NAME}]
    devices = {"example.com/gpu": "2", "ignored.example.com/x": "1"}
    pods["containers"][0]["resources"] = {"limits": devices}
    path = f"/apis/batch/v1/namespaces/{NAME}/jobs"
    answer = await api.request("POST", path, body=msgspec.json.encode(job))
    assert answer.status == 201, answer.body


def charged(running: RunningServices) -> dict[str, int]:
    decisions = [
        decision
        for decision in events_of(running.ledger, QuotaReserved)
        if decision.cluster_queue == NAME
    ]
    return dict(decisions[0].assignment[0].usage) if decisions else {}
