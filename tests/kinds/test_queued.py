"""What the policies do to jobs and pods when they are made, on a real API server."""

from __future__ import annotations

from functools import partial

import pytest

from tests.kinds.cluster import Cluster, Manifest, eventually
from tests.kinds.manifests import job, owned, pod
from tidegate.kinds.names import ADMISSION_GATE, PRIORITY_CLASS, QUEUE_NAME, TOPOLOGY_GATE

pytestmark = pytest.mark.real
KUEUE = "kueue.x-k8s.io/v1beta2"


async def made(cluster: Cluster, manifest: Manifest) -> Manifest:
    answer = await cluster.create(manifest, dry=True)
    assert answer.status == 201, answer.message
    return answer.body


@pytest.mark.parametrize(("queue", "suspended"), [("main", True), ("", False)])
async def test_a_job_starts_suspended_if_it_names_a_queue(
    cluster: Cluster, namespace: str, queue: str, *, suspended: bool
) -> None:
    obj = await made(cluster, job(namespace, queue=queue))
    assert obj["spec"].get("suspend", False) is suspended


@pytest.mark.parametrize(
    ("api_version", "kind", "suspended"),
    [
        ("jobset.x-k8s.io/v1alpha2", "JobSet", False),
        ("kubeflow.org/v2beta1", "MPIJob", False),
        ("ray.io/v1", "RayJob", False),
        ("batch/v1", "CronJob", True),
        ("example.com/v1", "Job", True),
    ],
)
async def test_a_job_that_a_known_kind_made_is_left_alone(
    cluster: Cluster, namespace: str, api_version: str, kind: str, *, suspended: bool
) -> None:
    obj = await made(cluster, owned(job(namespace, queue="main"), api_version, kind))
    assert obj["spec"].get("suspend", False) is suspended


async def test_a_job_in_a_namespace_of_the_system_is_left_alone(cluster: Cluster) -> None:
    obj = await made(cluster, job("kube-system", queue="main"))
    assert obj["spec"].get("suspend", False) is False


async def test_a_queued_pod_is_gated_once(cluster: Cluster, namespace: str) -> None:
    gates = [{"name": ADMISSION_GATE}, {"name": "example.com/other"}]
    fields = await made(cluster, pod(namespace, queue="main", schedulingGates=gates[1:]))
    again = await made(cluster, pod(namespace, queue="main", schedulingGates=gates))
    for obj in (fields, again):
        names = sorted(gate["name"] for gate in obj["spec"]["schedulingGates"])
        assert names == ["example.com/other", ADMISSION_GATE, TOPOLOGY_GATE]


async def test_a_pod_is_left_alone_without_a_queue_or_as_the_pod_of_a_job(
    cluster: Cluster, namespace: str
) -> None:
    alone = await made(cluster, pod(namespace))
    child = await made(cluster, owned(pod(namespace, queue="main"), "batch/v1", "Job"))
    assert [obj["spec"].get("schedulingGates") for obj in (alone, child)] == [None] * 2


async def test_a_queued_pod_that_names_its_node_is_refused(
    cluster: Cluster, namespace: str
) -> None:
    placed = await cluster.create(pod(namespace, queue="main", nodeName="node-1"), dry=True)
    assert placed.status == 422
    assert "spec.nodeName" in placed.message
    free = await made(cluster, pod(namespace, nodeName="node-1"))
    assert "schedulingGates" not in free["spec"]


@pytest.mark.parametrize(
    ("kind", "spec", "path"),
    [
        ("jobset.x-k8s.io/v1alpha2/JobSet", {}, "suspend"),
        ("kubeflow.org/v1/PyTorchJob", {}, "runPolicy.suspend"),
        ("kubeflow.org/v1/PyTorchJob", {"runPolicy": {"a": 1}}, "runPolicy.suspend"),
        ("ray.io/v1/RayService", {}, "rayClusterConfig.suspend"),
    ],
)
async def test_other_kinds_are_suspended_where_they_want_it(
    cluster: Cluster, kind: str, spec: Manifest, path: str
) -> None:
    api_version, _, name = kind.rpartition("/")
    metadata = {"name": "a", "namespace": "default", "labels": {QUEUE_NAME: "main"}}
    manifest = {"apiVersion": api_version, "kind": name, "metadata": metadata, "spec": spec}
    await eventually(partial(served, cluster, open_crd(api_version, name), manifest))
    value = (await made(cluster, manifest))["spec"]
    for field in path.split("."):
        value = value[field]
    assert value is True


async def served(cluster: Cluster, crd: Manifest, manifest: Manifest) -> str:
    await cluster.apply(crd)
    answer = await cluster.create(manifest, dry=True)
    return "" if answer.status == 201 else answer.message


def open_crd(api_version: str, kind: str) -> Manifest:
    """Return a CRD that takes anything, for a kind whose operator is not here."""
    group, _, version = api_version.partition("/")
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [served | {"schema": {"openAPIV3Schema": schema}}],
        },
    }


async def test_a_namespace_with_a_queue_named_default_gives_it_to_every_job(
    cluster: Cluster, namespace: str
) -> None:
    await cluster.create(
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "default", "namespace": namespace},
            "spec": {"clusterQueue": "research"},
        }
    )
    await eventually(partial(given, cluster, job(namespace), QUEUE_NAME, "default"))
    obj = await made(cluster, job(namespace))
    child = await made(cluster, owned(job(namespace), "jobset.x-k8s.io/v1alpha2", "JobSet"))
    other = await made(cluster, job(namespace, queue="main"))
    assert obj["spec"]["suspend"] is True
    assert QUEUE_NAME not in child["metadata"].get("labels", {})
    assert other["metadata"]["labels"][QUEUE_NAME] == "main"


async def test_a_queue_name_may_not_be_removed_where_there_is_a_default(
    cluster: Cluster, namespace: str
) -> None:
    queue = {"apiVersion": KUEUE, "kind": "LocalQueue", "spec": {"clusterQueue": "research"}}
    named = {"metadata": {"name": "default", "namespace": namespace}}
    await cluster.create(job(namespace, "before", queue="main"))
    without = {"metadata": {"labels": {QUEUE_NAME: None}}}
    free = await cluster.merge(job(namespace, "before"), without)
    await cluster.create(queue | named)
    await eventually(partial(given, cluster, job(namespace), QUEUE_NAME, "default"))
    await cluster.create(job(namespace, "after", queue="main"))
    kept = await cluster.merge(job(namespace, "after"), without)
    assert free.status == 200
    assert f"metadata.labels[{QUEUE_NAME}] may not be removed" in kept.message


async def test_a_queued_job_gets_the_default_priority_class(
    cluster: Cluster, namespace: str
) -> None:
    wpc = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "value": 3}
    manifest = wpc | {"metadata": {"name": "default"}}
    await cluster.create(manifest)
    queued = job(namespace, queue="main")
    await eventually(partial(given, cluster, queued, PRIORITY_CLASS, "default"))
    unqueued = await made(cluster, job(namespace))
    await cluster.delete(manifest)
    assert PRIORITY_CLASS not in unqueued["metadata"].get("labels", {})


async def given(cluster: Cluster, manifest: Manifest, key: str, value: str) -> str:
    labels = (await made(cluster, manifest))["metadata"].get("labels", {})
    return "" if labels.get(key) == value else f"labels are {labels}"
