"""A Job that names a JobSet as its controller is refused from any other creator, on a real server.

Quota counts such a Job with its JobSet, so a Job of any other creator would run uncharged.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from tests.cluster.talking import Object, Talk, eventually, job
from tests.cluster.test_marks import merged, roles
from tests.kinds.test_queued import open_crd
from tests.parts.kubernetes import make_namespace
from tidegate.cluster.install import apply, install, manifests_folder
from tidegate.kinds.policies.children import protect_children
from tidegate.kinds.policies.frameworks import framework
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

pytestmark = pytest.mark.real
TENANT, CONTROLLER = "mallory", "jobset-controller"
ALLOWED: list[Object] = [
    {"apiGroups": ["batch", "ray.io"], "resources": ["jobs", "rayclusters"], "verbs": ["*"]}
]
STATUS: Object = {
    "apiGroups": ["jobset.x-k8s.io"],
    "resources": ["jobsets/status"],
    "verbs": ["patch"],
}


class Stage(NamedTuple):
    """A real server as three see it."""

    admin: Talk
    tenant: Talk
    controller: Talk


@pytest.fixture
async def stage(own_api: str) -> AsyncIterator[Stage]:
    async with AsyncExitStack() as stack:
        access = Access(kubeconfig=own_api)
        apis = [
            await stack.enter_async_context(connect(replace(access, impersonate=user)))
            for user in ("", TENANT, CONTROLLER)
        ]
        namespace = await make_namespace(apis[0])
        await install(apis[0], manifests_folder(), lambda _: None)
        for manifest in [*roles(TENANT, ALLOWED), *roles(CONTROLLER, [*ALLOWED, STATUS])]:
            await apply(apis[0], manifest)
        made = Stage(*(Talk(api, namespace, lambda: None) for api in apis))
        await eventually(lambda: is_refused(made.tenant, "probe"), lambda done: done)
        await eventually(lambda: is_refused(made.controller, "probe"), lambda done: not done)
        yield made


def child(name: str, kind: str, version: str, *, controller: bool = True) -> Object:
    obj = job(name, suspend=True)
    owner = {"apiVersion": version, "kind": kind, "name": "above", "uid": "0000-above"}
    obj["metadata"]["ownerReferences"] = [{**owner, "controller": controller}]
    return obj


async def is_refused(talk: Talk, name: str) -> bool:
    body = child(name, "JobSet", "jobset.x-k8s.io/v1alpha2")
    status, _ = await talk.send("POST", talk.jobs, body, dryRun="All")
    return status == 422


async def test_only_a_controller_makes_children_of_its_kind(stage: Stage) -> None:
    body = child("forged", "JobSet", "jobset.x-k8s.io/v1alpha2")
    status, answer = await stage.tenant.send("POST", stage.tenant.jobs, body)
    assert status == 422
    assert "only by the controller of JobSet" in answer["message"]
    assert (await stage.controller.send("POST", stage.controller.jobs, body))[0] == 201
    for kind, version in (("RayJob", "ray.io/v1"), ("JobSet", "jobset.x-k8s.io/v1")):
        body = child(f"of-{kind.lower()}", kind, version)
        assert (await stage.tenant.send("POST", stage.tenant.jobs, body))[0] == 422
    for body in (
        child("of-a-job", "Job", "batch/v1"),
        child("of-others", "Workflow", "argoproj.io/v1alpha1"),
        child("held", "JobSet", "jobset.x-k8s.io/v1alpha2", controller=False),
    ):
        assert (await stage.tenant.send("POST", stage.tenant.jobs, body))[0] == 201


async def test_no_other_account_puts_a_job_under_a_controller_later(stage: Stage) -> None:
    await stage.tenant.make(stage.tenant.jobs, job("free", suspend=True))
    path = f"{stage.tenant.jobs}/free"
    owners = child("x", "JobSet", "jobset.x-k8s.io/v1alpha2")["metadata"]["ownerReferences"]
    assert (await merged(stage.tenant, path, {"metadata": {"ownerReferences": owners}}))[0] == 422
    body = {"metadata": {"ownerReferences": owners}}
    assert (await merged(stage.controller, path, body))[0] == 200
    labelled = {"metadata": {"labels": {"still": "free"}}}
    assert (await merged(stage.tenant, path, labelled))[0] == 200


async def test_no_other_account_makes_a_child_larger(stage: Stage) -> None:
    body = child("worker", "JobSet", "jobset.x-k8s.io/v1alpha2")
    assert (await stage.controller.send("POST", stage.controller.jobs, body))[0] == 201
    path, larger = f"{stage.tenant.jobs}/worker", {"spec": {"parallelism": 100}}
    status, answer = await merged(stage.tenant, path, larger)
    assert status == 422
    assert "only by the controller of JobSet" in answer["message"]
    labelled = {"metadata": {"labels": {"still": "small"}}}
    assert (await merged(stage.tenant, path, labelled))[0] == 200
    assert (await merged(stage.controller, path, larger))[0] == 200


def ray_cluster(name: str, *, autoscaled: bool) -> Object:
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "above", "uid": "0000-above"}
    spec = {"containers": [], "schedulingGates": [{"name": "kueue.x-k8s.io/elastic-job"}]}
    group = {"groupName": "crew", "replicas": 1, "template": {"spec": spec}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, "ownerReferences": [{**owner, "controller": True}]},
        "spec": {"enableInTreeAutoscaling": autoscaled, "workerGroupSpecs": [group]},
    }


async def grouped(stage: Stage, obj: Object, **changed: object) -> int:
    """Let the tenant try to change a cluster's group of workers; return the status."""
    group = {**obj["spec"]["workerGroupSpecs"][0], **changed}
    path = f"/apis/ray.io/v1/namespaces/{stage.tenant.namespace}/rayclusters"
    patch = {"spec": {"workerGroupSpecs": [group]}}
    return (await merged(stage.tenant, f"{path}/{obj['metadata']['name']}", patch))[0]


async def test_the_number_of_workers_alone_may_change_where_ray_scales(stage: Stage) -> None:
    await apply(stage.admin.api, open_crd("ray.io/v1", "RayCluster"))
    for candidate_child in protect_children(
        [framework("ray.io/raycluster").target("CREATE", "UPDATE")]
    ):
        await apply(stage.admin.api, candidate_child)
    path = f"/apis/ray.io/v1/namespaces/{stage.admin.namespace}/rayclusters"
    fixed, scaled = ray_cluster("fixed", autoscaled=False), ray_cluster("scaled", autoscaled=True)
    await eventually(lambda: stage.admin.send("POST", path, fixed), lambda answer: answer[0] == 201)
    await stage.admin.make(path, scaled)
    await eventually(lambda: grouped(stage, fixed, replicas=9), lambda status: status == 422)
    assert await grouped(stage, scaled, template={"spec": {"containers": []}}) == 422
    assert await grouped(stage, scaled, replicas=9) == 200
