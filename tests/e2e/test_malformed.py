"""Objects that cannot be read stand in the cluster: each is named in the ledger, the rest goes on.

Those that the API server would not admit are put into its storage directly, as an older schema, a
restored backup or another writer may have left them. Of Kubernetes' own kinds it admits nothing
that cannot be read, so these come at the extremes of what is legal.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.breaking import Storage
from tests.e2e.cast import KUEUE, events_of, eventually
from tests.e2e.ordeal import alone, ordeal
from tidegate.cluster.go.plane import ControlPlane
from tidegate.cluster.install import apply
from tidegate.contracts.facts import ObservationRefused
from tidegate.contracts.subjects import name_of
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
NAMESPACE, NAME = "malformed", "broken"
RESOURCE = {"name": "cpu", "nominalQuota": "lots"}
QUOTAS = [{"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": [RESOURCE]}]}]
STORED: dict[str, tuple[str, dict[str, Any]]] = {
    "clusterqueues": ("ClusterQueue", {"spec": {"resourceGroups": QUOTAS}}),
    "cohorts": ("Cohort", {"spec": {"resourceGroups": QUOTAS}}),
    "localqueues": ("LocalQueue", {"spec": {"clusterQueue": 7}}),
    "resourceflavors": ("ResourceFlavor", {"spec": {"nodeLabels": {"zone": 7}}}),
    "workloadpriorityclasses": ("WorkloadPriorityClass", {"value": "high"}),
    "admissionchecks": ("AdmissionCheck", {"spec": {"controllerName": 7}}),
    "workloads": ("Workload", {"spec": {"queueName": NAMESPACE, "podSets": "all"}}),
}
NAMESPACED = {"localqueues", "workloads"}
HUGE = "9223372036854775807"
EXTREMES: tuple[dict[str, Any], ...] = (
    {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": NAME, "namespace": "default"},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": HUGE, "a/b": "1e18"}}]},
    },
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": NAME},
        "handler": "h",
        "overhead": {"podFixed": {"cpu": "1n", "memory": "8Ei"}},
    },
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": NAME},
        "value": -2147483648,
    },
)


def path_of(plural: str) -> str:
    inside = f"namespaces/{NAMESPACE}/" if plural in NAMESPACED else ""
    return f"/apis/{KUEUE}/{inside}{plural}/{NAME}"


async def store_malformed(storage: Storage) -> None:
    for number, (plural, (kind, rest)) in enumerate(STORED.items()):
        place = {"namespace": NAMESPACE} if plural in NAMESPACED else {}
        uid = f"00000000-0000-4000-8000-{number:012d}"
        metadata = {"name": NAME, "uid": uid, "creationTimestamp": "2026-01-01T00:00:00Z", **place}
        key = "/".join(["/registry/kueue.x-k8s.io", plural, *place.values(), NAME])
        await storage.put(key, {"apiVersion": KUEUE, "kind": kind, "metadata": metadata, **rest})


async def submit_malformed(api: KubernetesApi) -> None:
    """Create a Job that is legal for Kubernetes, and asks for a slice of nonsense pods."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    marks = {"annotations": {"kueue.x-k8s.io/podset-slice-size": "many"}}
    template = {"metadata": marks, "spec": {"restartPolicy": "Never", "containers": [container]}}
    labels = {"kueue.x-k8s.io/queue-name": NAMESPACE}
    job = {"metadata": {"name": NAME, "labels": labels}, "spec": {"template": template}}
    body = msgspec.json.encode(job)
    answer = await api.request("POST", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs", body=body)
    assert answer.status == 201, answer.body


def refused(ledger: str) -> dict[str, str]:
    """Return the error by the resource that each refusal is of."""
    events = events_of(ledger, ObservationRefused)
    return {name_of(event.subject.split(".")[3]).partition(".")[0]: event.error for event in events}


@asynccontextmanager
async def removed_after(api: KubernetesApi) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        paths = [path_of(plural) for plural in STORED]
        paths.append(f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/{NAME}")
        for path in paths:
            await api.request("DELETE", path)


async def test_a_malformed_object_of_each_kind_is_reported_and_the_rest_goes_on(
    api: KubernetesApi, own_plane: ControlPlane, own_api: str, tmp_path: Path
) -> None:
    wanted = {*STORED, "jobs"}
    async with removed_after(api), ordeal(api, alone(tmp_path, own_api), NAMESPACE) as trial:
        await trial.submit()
        await store_malformed(Storage(own_plane))
        await submit_malformed(api)
        for extreme in EXTREMES:
            await apply(api, extreme)
        ledger = trial.running.ledger
        await eventually(lambda: refused(ledger).keys() >= wanted, "each is told as refused")
    assert all(refused(ledger).values())
