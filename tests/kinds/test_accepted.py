"""What Kueue accepts on a real API server, though a stricter reading would refuse it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.kinds.cluster import Cluster, Manifest, documents
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

ACTUATOR = "system:serviceaccount:tidegate-system:tidegate-actuator"
"""The user that the policies of these kinds leave alone."""
STATUSES = {
    "nominated-none": {"clusterName": "east", "nominatedClusterNames": []},
    "nominated-twice": {"nominatedClusterNames": ["east", "east"]},
}
pytestmark = pytest.mark.real


@pytest.fixture
async def unchecked(cluster: Cluster, installed: str) -> AsyncIterator[Cluster]:
    """Lend a connection to whose writes no policy is put."""
    manifest: Manifest = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "unchecked"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": ACTUATOR},
        ],
    }
    assert (await cluster.create(manifest)).status == 201
    async with connect(Access(kubeconfig=installed, impersonate=ACTUATOR)) as api:
        yield Cluster(api)
    await cluster.delete(manifest)


@pytest.mark.parametrize("name", STATUSES)
async def test_a_status_that_kueue_accepts(cluster: Cluster, name: str) -> None:
    (manifest,) = documents(Path(__file__).parent / "refused" / "workload" / "gate-twice.yaml")
    manifest["metadata"] = {"name": name, "namespace": "default"}
    manifest["spec"]["podSets"][0]["topologyRequest"] = {"preferred": "rack", "subGroupCount": -1}
    made = await cluster.create(manifest)
    assert made.status == 201, made.message
    try:
        answer = await cluster.merge(manifest, {"status": STATUSES[name]}, "/status")
        assert answer.status == 200, answer.message
    finally:
        await cluster.delete(manifest)


async def test_a_check_keeps_the_unknown_flavors_that_it_had(
    cluster: Cluster, unchecked: Cluster
) -> None:
    rule = {"name": "budget", "onFlavors": ["gone"]}
    manifest: Manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "unknown-flavors"},
        "spec": {"admissionChecksStrategy": {"admissionChecks": [rule]}},
    }
    made = await unchecked.create(manifest)
    assert made.status == 201, made.message
    try:
        held = await cluster.merge(manifest, {"spec": {"stopPolicy": "Hold"}})
        assert held.status == 200, held.message
        rules = [{**rule, "onFlavors": ["gone", "other"]}]
        strategy = {"spec": {"admissionChecksStrategy": {"admissionChecks": rules}}}
        changed = await cluster.merge(manifest, strategy)
        assert changed.status == 422, changed.body
    finally:
        await cluster.delete(manifest)
