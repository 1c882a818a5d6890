"""Nodes, pods and Topologies take the rights of one role a service, only where they are used."""

from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.metrics import Metrics
from actuator.projection.read_model import ReadModel
from actuator.projection.workload_view import WorkloadView
from actuator.ungating.pod_ungater import PodUngater
from actuator.ungating.topology import TopologyPods
from tests.actuator.placing import assigned
from tests.e2e.cast import KUEUE, post, until
from tests.parts.foreign import pods_template
from tests.parts.stage import alongside, kueue
from tests.rights.asked import Right, role
from tests.rights.story import account, heartbeat, ingest
from tidegate.kube.client import KubernetesClient
from tidegate.model.ids import ObjectRef

pytestmark = pytest.mark.real
FLAVORS = f"/apis/{KUEUE}/resourceflavors"


@pytest.fixture
async def named(admin: KubernetesClient) -> AsyncIterator[None]:
    """A ResourceFlavor that names a topology."""
    made = kueue("ResourceFlavor", "with-topology", nodeLabels={"a": "b"}, topologyName="t")
    assert (await post(admin, FLAVORS, made)).status == 201
    yield
    await admin.request("DELETE", f"{FLAVORS}/with-topology")


@pytest.mark.usefixtures("named")
async def test_ingest_looks_at_nodes_by_the_rights_of_a_role_of_its_own(real_api: str) -> None:
    async with account(real_api, "tidegate-ingest") as recorded:
        session, bus = ingest(recorded)
        async with alongside(session.run()):
            await heartbeat(bus)
    assert recorded.refused == set()
    besides = role("tidegate-ingest-topology")
    assert besides <= recorded.asked <= besides | role("tidegate-ingest")


async def test_the_actuator_tells_pods_their_domains_by_the_rights_of_a_role_of_its_own(
    real_api: str, admin: KubernetesClient, namespace: str
) -> None:
    waits = {"schedulingGates": [{"name": "kueue.x-k8s.io/topology"}]}
    stuck = {"nodeSelector": {"kubernetes.io/hostname": "lost"}}
    podset = {"name": "main", "count": 1, "template": pods_template()}
    made = kueue("Workload", "w", podSets=[podset])
    path = f"/apis/{KUEUE}/namespaces/{namespace}/workloads"
    assert (await post(admin, path, made)).status == 201
    for name, spec in (("waits", waits), ("stuck", stuck)):
        manifest = {"metadata": {"name": name, **MARKS}, "spec": pods_template()["spec"] | spec}
        pods = f"/api/v1/namespaces/{namespace}/pods"
        assert (await post(admin, pods, manifest)).status == 201
    besides = role("tidegate-actuator-topology")
    async with account(real_api, "tidegate-actuator") as recorded:
        calls = Calls(recorded, Metrics(CollectorRegistry()))
        lets_go = PodUngater(calls, Random(1), TopologyPods(lambda: knowing(namespace)))
        lets_go.set_active(working=True)

        async def all_are_used() -> bool:
            return besides <= recorded.asked

        async with alongside(lets_go.run()):
            await until(all_are_used, "both are patched")
    assert recorded.refused == set()
    assert recorded.asked <= besides | role("tidegate-actuator")
    assert Right("", "pods/status", "patch") in besides


MARKS = {
    "labels": {"kueue.x-k8s.io/podset": "main"},
    "annotations": {"kueue.x-k8s.io/workload": "w"},
}


def knowing(namespace: str) -> ReadModel:
    """Return what is known of one workload whose pod is to run on node ``left``."""
    model, key = ReadModel(), f"{namespace}/w"
    job = ObjectRef(kind="workload", namespace=namespace, name="w", uid="u")
    given = (assigned(left=1),)
    model.workloads[key] = WorkloadView(
        key=key, uid="u", job=job, phase="admitted", assignment=given
    )
    model.places = True
    return model
