"""The author of a job or of a quota change stands on the object, and cannot be forged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from tests.kinds.cluster import Cluster, Manifest
from tests.kinds.manifests import job
from tidegate.kinds.names import AUTHOR, BUDGET
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

pytestmark = pytest.mark.real
USERS = ("alice", "bob")
FORGED = {"metadata": {"annotations": {AUTHOR: "mallory"}}}


def queue(cpu: str, **spec: str) -> Manifest:
    flavor = {"name": "spot", "resources": [{"name": "cpu", "nominalQuota": cpu}]}
    group = {"coveredResources": ["cpu"], "flavors": [flavor]}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "ClusterQueue",
        "metadata": {"name": "authored"},
        "spec": {"resourceGroups": [group], **spec},
    }


@pytest.fixture
async def users(cluster: Cluster, installed: str) -> AsyncIterator[tuple[Cluster, Cluster]]:
    """Lend connections as alice and as bob, who may do anything."""
    subjects = [{"apiGroup": ROLES, "kind": "User", "name": user} for user in USERS]
    await cluster.apply(BINDING | {"subjects": subjects})
    async with AsyncExitStack() as stack:
        alice, bob = [
            await stack.enter_async_context(connect(Access(kubeconfig=installed, impersonate=user)))
            for user in USERS
        ]
        yield Cluster(alice), Cluster(bob)
        await cluster.delete(queue("1"))


def author(manifest: Manifest) -> str:
    return str(manifest["metadata"].get("annotations", {}).get(AUTHOR, ""))


async def test_a_job_bears_the_name_of_its_creator(
    users: tuple[Cluster, Cluster], namespace: str
) -> None:
    alice, bob = users
    made = await alice.create(merged(job(namespace), FORGED))
    forged = await bob.merge(job(namespace), FORGED)
    removed = await bob.merge(job(namespace), {"metadata": {"annotations": None}})
    touched = await bob.merge(job(namespace), {"metadata": {"labels": {"a": "b"}}})
    assert [author(answer.body) for answer in (made, forged, removed, touched)] == ["alice"] * 4


async def test_a_quota_bears_the_name_of_the_user_that_changed_it_last(
    users: tuple[Cluster, Cluster],
) -> None:
    alice, bob = users
    made = await alice.create(queue("4", cohort="lab"))
    touched = await bob.merge(queue("4"), {"metadata": {"labels": {"a": "b"}}})
    forged = await bob.merge(queue("4"), FORGED)
    lowered = await bob.merge(queue("4"), queue("3"))
    names = [author(answer.body) for answer in (made, touched, forged, lowered)]
    assert names == ["alice", "alice", "alice", "bob"]


async def test_a_user_that_changes_a_budget_alone_is_its_author(
    users: tuple[Cluster, Cluster],
) -> None:
    alice, bob = users
    await alice.create(queue("4", cohort="lab"))
    annotated = {"metadata": {"annotations": {BUDGET: "cpu=10/day"}}}
    first = await bob.merge(queue("4"), annotated)
    again = await alice.merge(queue("4"), annotated)
    assert [author(answer.body) for answer in (first, again)] == ["bob", "bob"]


async def test_applying_an_older_manifest_again_is_no_change(
    users: tuple[Cluster, Cluster],
) -> None:
    alice, bob = users
    await alice.create(queue("4", cohort="lab"))
    again = await bob.merge(queue("4"), queue("4", cohort="lab"))
    other = await bob.merge(queue("4"), queue("4", cohort="office"))
    assert [author(answer.body) for answer in (again, other)] == ["alice", "bob"]


async def test_a_priority_class_bears_the_name_of_the_user_that_changed_its_value(
    users: tuple[Cluster, Cluster],
) -> None:
    alice, bob = users
    manifest: Manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": "authored"},
        "value": 1,
    }
    made = await alice.create(manifest)
    answer = await bob.merge(manifest, {"description": "less"})
    changed = await bob.merge(manifest, {"value": 2})
    await alice.delete(manifest)
    assert [author(answer.body) for answer in (made, answer, changed)] == ["alice", "alice", "bob"]


def merged(manifest: Manifest, more: Manifest) -> Manifest:
    return manifest | {"metadata": manifest["metadata"] | more["metadata"]}


ROLES = "rbac.authorization.k8s.io"
BINDING: Manifest = {
    "apiVersion": f"{ROLES}/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "tests-authors"},
    "roleRef": {"apiGroup": ROLES, "kind": "ClusterRole", "name": "cluster-admin"},
}
