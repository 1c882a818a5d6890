"""Ray's kinds that grow and shrink by themselves, on a real API server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.acts.ray import ROOTS, cluster, made
from tests.e2e.cast import Object, define, make_queues, post, tidegate, until
from tests.e2e.kuberay import KubeRay, kuberay
from tests.e2e.living import GROUP, Living, configured
from tests.e2e.test_elastic import ELASTIC, has_pods, listed, slices
from tests.parts.definitions import RAY_CLUSTER, RAY_JOB, RAY_SERVICE
from tidegate.cluster.install import apply
from tidegate.cluster.running import run_services
from tidegate.jobs.templates.paths import value_at, with_value
from tidegate.kinds.manifests import policies
from tidegate.kube.ports import KubernetesApi

pytestmark = [pytest.mark.real, pytest.mark.slow]
NAMES = ("ray.io/raycluster", "ray.io/rayjob", "ray.io/rayservice")
ENABLED = f"integrations: {{frameworks: [batch/job, {', '.join(NAMES)}]}}\n"
LONG_S = 3_600.0
KINDS = ("RayCluster", "RayJob", "RayService")


def elastic(kind: str, space: str) -> Object:
    """Return an object whose cluster has a head, one worker, and an autoscaler."""
    spec: Object = {**cluster(LONG_S), "enableInTreeAutoscaling": True}
    spec["autoscalerOptions"] = {"resources": {"requests": {"cpu": "0"}}}
    if kind != "RayCluster":
        spec = {str(ROOTS[kind][-1]): spec}
    if kind == "RayJob":
        spec |= {"submissionMode": "HTTPMode", "shutdownAfterJobFinishes": True}
    obj = made(kind, "train", space, spec)
    obj["metadata"]["annotations"] = {ELASTIC: "true"}
    return obj


def templates(kind: str, obj: Object) -> list[Object]:
    root = value_at(obj, ROOTS[kind])
    groups = [spec["template"] for spec in root["workerGroupSpecs"]]
    return [root["headGroupSpec"]["template"], *groups]


async def prepare(api: KubernetesApi, space: str, ray: KubeRay, kind: str) -> Object:
    """Define the kinds and a queue of 3 CPUs, and make the job; return it as it was made."""
    for crd in (RAY_CLUSTER, RAY_JOB, RAY_SERVICE):
        await define(api, crd)
    for policy in policies(("batch/job", *NAMES)):
        await apply(api, policy)
    await make_queues(api, {space: "3"})
    root = (*ROOTS[kind], "suspend") if kind == "RayService" else ("spec", "suspend")
    value = with_value(elastic(kind, space), root, value=True)
    assert (await post(api, ray.path(kind), value)).status == 201
    return await listed_one(api, ray.path(kind))


async def listed_one(api: KubernetesApi, path: str) -> Object:
    (fields,) = await listed(api, path)
    return fields


@pytest.mark.parametrize("kind", KINDS)
async def test_a_ray_job_grows_by_a_slice_shrinks_and_leaves_as_it_came(
    api: KubernetesApi, own_api: str, tmp_path: Path, kind: str
) -> None:
    space = f"grows-{kind.lower()}"
    wanted, life = configured(tmp_path, own_api, ENABLED), Living(api, space)
    named = "train" if kind == "RayCluster" else "train-x"
    async with kuberay(api, space) as ray, run_services(wanted, print) as running:
        before = await prepare(api, space, ray, kind)
        await has_pods(api, space, 2, 0)
        await ray.scale(named, 3)
        await has_pods(api, space, 2, 2)  # quota is there for one of the two, a slice for both
        await until(lambda: waits(api, space), "a slice waits for quota")
        await life.change(f"{GROUP}/clusterqueues/{space}", spec=quota("4"))
        await has_pods(api, space, 4, 0)
        await until(lambda: replaced(api, space), "it took over from the one before")
        await ray.scale(named, 1)
        await life.make("fits", cpu="2")
        await life.shows("fits", "Admitted=True Admitted")
        await has_pods(api, space, 2, 0)
        await life.stop_queue("clusterqueues", "HoldAndDrain")
        await has_pods(api, space, 0, 0)
        await until(lambda: restored(api, ray, kind, before), "its templates are as they were")
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)


def quota(cpu: str) -> Object:
    fields = {"name": "any", "resources": [{"name": "cpu", "nominalQuota": cpu}]}
    return {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [fields]}]}


async def waits(api: KubernetesApi, space: str) -> bool:
    mapping = await slices(api, space)
    waiting = "QuotaReserved=False WaitingForQuota"
    return any(waiting in names for replaces, names in mapping.items() if replaces)


async def replaced(api: KubernetesApi, space: str) -> bool:
    mapping = await slices(api, space)
    ended = "Finished=True WorkloadSliceReplaced" in mapping.pop("", [])
    return (
        ended and bool(mapping) and all("Admitted=True Admitted" in row for row in mapping.values())
    )


async def restored(api: KubernetesApi, ray: KubeRay, kind: str, before: Object) -> bool:
    fields = await listed_one(api, ray.path(kind))
    return templates(kind, fields) == templates(kind, before)
