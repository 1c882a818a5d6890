"""Marks, admissions and gates are the actuator's to write: others are refused, with a sentence.

On the real server the policies decide, on the embedded one their equivalents; each write is tried
with the policies and without them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from apiserver.api import EmbeddedApi
from apiserver.http import serve
from tests.cluster.conftest import SERVERS
from tests.cluster.talking import Object, Talk, eventually, job, pod
from tests.parts.kubernetes import make_namespace
from tidegate.cluster.install import apply, install, manifests_folder
from tidegate.kinds.names import (
    ADMISSION_GATE,
    DECISION,
    ELASTIC_POD,
    GROUP_UID,
    INJECTED,
    ORDERED,
    PODSET,
)
from tidegate.kinds.policies.forms import ACCOUNTS
from tidegate.kinds.policies.marks import protect_gates
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

TENANT = "mallory"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
ROLES = "rbac.authorization.k8s.io"
ALLOWED: list[Object] = [
    {"apiGroups": ["", "batch"], "resources": ["pods", "jobs"], "verbs": ["*"]},
    {"apiGroups": ["kueue.x-k8s.io"], "resources": ["*"], "verbs": ["*"]},
]
"""More than a tenant has: the policies refuse it all the same."""
MARKS: Object = {"apiGroups": ["tidegate.dev"], "resources": ["marks"], "verbs": ["write"]}


class Stage(NamedTuple):
    """A server, as its administrator and as two others see it."""

    admin: Talk
    tenant: Talk
    actuator: Talk


@pytest.fixture(params=[SERVERS[1], SERVERS[-1]])
async def stage(request: pytest.FixtureRequest, embedded_api: EmbeddedApi) -> AsyncIterator[Stage]:
    """Lend a server on which Tidegate is installed, with the policy about gates besides."""
    async with AsyncExitStack() as stack:
        if request.param == "over http":
            access = Access(url=await stack.enter_async_context(serve(embedded_api)))
        else:
            access = Access(kubeconfig=request.getfixturevalue("own_api"))
        users = ("", TENANT, ACCOUNTS[0])
        apis = [
            await stack.enter_async_context(connect(replace(access, impersonate=user)))
            for user in users
        ]
        namespace = await make_namespace(apis[0])
        made = Stage(*(Talk(api, namespace, lambda: None) for api in apis))
        await install(apis[0], manifests_folder(), lambda _: None)
        for manifest in [
            *protect_gates(),
            *roles(TENANT, ALLOWED),
            *roles(ACCOUNTS[0], [*ALLOWED, MARKS]),
        ]:
            await apply(apis[0], manifest)
        await eventually(lambda: probed(made), lambda done: done)
        yield made


def roles(user: str, rules: list[Object]) -> list[Object]:
    name = f"test-{user.replace(':', '-')}"
    reference = {"apiGroup": ROLES, "kind": "ClusterRole", "name": name}
    subjects = [{"apiGroup": ROLES, "kind": "User", "name": user}]
    head: Object = {"apiVersion": f"{ROLES}/v1", "metadata": {"name": name}}
    return [
        {**head, "kind": "ClusterRole", "rules": rules},
        {**head, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": subjects},
    ]


async def probed(stage: Stage) -> bool:
    """Tell whether the policy that came last acts."""
    name = f"{stage.admin.pods}/probe"
    await stage.admin.send("POST", stage.admin.pods, gated("probe"))
    status, _ = await merged(stage.tenant, name, {"spec": {"schedulingGates": []}})
    await stage.admin.send("DELETE", name, gracePeriodSeconds="0")
    return status == 422


async def merged(talk: Talk, path: str, patch: Object) -> tuple[int, Object]:
    return await talk.send("PATCH", path, patch, "application/merge-patch+json")


def gated(name: str) -> Object:
    return pod(name, schedulingGates=[{"name": ADMISSION_GATE}])


def elastic(name: str) -> Object:
    """Return a pod that was let go as one of an elastic job."""
    made = pod(name)
    made["metadata"]["labels"] = {ELASTIC_POD: "some-job", PODSET: "workers"}
    return made


def annotated(key: str, value: str | None = "forged/7") -> Object:
    return {"metadata": {"annotations": {key: value}}}


def labelled(key: str, value: str | None) -> Object:
    return {"metadata": {"labels": {key: value}}}


def workload(name: str) -> Object:
    spec = {"containers": [{"name": "c", "image": "none"}]}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name},
        "spec": {"podSets": [{"name": "main", "count": 1, "template": {"spec": spec}}]},
    }


def condition(kind: str) -> Object:
    since = "2026-01-01T00:00:00Z"
    condition = {"type": kind, "status": "True", "reason": "a", "message": "forged/7"}
    return {"status": {"conditions": [{**condition, "lastTransitionTime": since}]}}


RESERVED = condition("QuotaReserved")
RESERVED["status"]["admission"] = {
    "clusterQueue": "main",
    "podSetAssignments": [{"name": "main", "count": 1}],
}


class Write(NamedTuple):
    """A patch of one object, and what the refusal names."""

    make: Callable[[str], Object]
    plural: str  # of the object, or of its subresource behind a slash
    patch: Object
    said: str


def queued(name: str) -> Object:
    return job(name, suspend=True)


WRITES = {
    "decision": Write(queued, "jobs", annotated(DECISION), DECISION),
    "injected": Write(queued, "jobs", annotated(INJECTED), INJECTED),
    "group": Write(queued, "jobs", annotated(GROUP_UID), GROUP_UID),
    "Workload": Write(workload, "workloads", annotated(DECISION), DECISION),
    "start": Write(workload, "workloads/status", condition(ORDERED), ORDERED),
    "admitted": Write(workload, "workloads/status", condition("Admitted"), "Admitted"),
    "quota": Write(workload, "workloads/status", RESERVED, "QuotaReserved"),
    "gate": Write(gated, "pods", {"spec": {"schedulingGates": []}}, ADMISSION_GATE),
    "uncounted": Write(elastic, "pods", labelled(ELASTIC_POD, None), ELASTIC_POD),
    "miscounted": Write(elastic, "pods", labelled(PODSET, "others"), PODSET),
}


def collection(talk: Talk, plural: str) -> str:
    if plural == "workloads":
        return f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{talk.namespace}/workloads"
    return talk.jobs if plural == "jobs" else talk.pods


async def written(talk: Talk, stage: Stage, write: Write, name: str) -> tuple[int, Any]:
    """Make an object as the administrator, and patch it as a user."""
    plural, _, part = write.plural.partition("/")
    path = collection(talk, plural)
    await stage.admin.make(path, write.make(name))
    return await merged(talk, f"{path}/{name}{'/' + part if part else ''}", write.patch)


async def test_only_the_actuator_writes_what_starts_something(stage: Stage) -> None:
    for name, write in WRITES.items():
        status, answer = await written(stage.tenant, stage, write, f"by-tenant-{name.lower()}")
        assert (status, write.said in answer["message"]) == (422, True), (name, answer)
        status, answer = await written(stage.actuator, stage, write, f"by-actuator-{name.lower()}")
        assert status == 200, (name, answer)


async def test_a_mark_is_neither_brought_along_nor_removed(stage: Stage) -> None:
    body = queued("brought")
    body["metadata"]["annotations"] = {DECISION: "forged/7"}
    assert (await stage.tenant.send("POST", stage.tenant.jobs, body))[0] == 422
    await stage.admin.make(stage.admin.jobs, body)
    path = f"{stage.admin.jobs}/brought"
    assert (await merged(stage.tenant, path, annotated(DECISION, None)))[0] == 422
    assert (await merged(stage.tenant, path, annotated("mine", "yes")))[0] == 200


async def test_what_the_controller_of_a_job_kind_copies_is_left_alone(stage: Stage) -> None:
    uid = "00000000-0000-4000-8000-000000000000"
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "controller": True, "name": "a"}
    body = queued("copied")
    body["metadata"] |= {"ownerReferences": [{**owner, "uid": uid}]}
    body["metadata"]["annotations"] = {DECISION: "ours/7"}
    controls: Object = {
        "apiGroups": ["ray.io"],
        "resources": ["rayjobs/status"],
        "verbs": ["patch"],
    }
    for role in roles(TENANT, [*ALLOWED, controls]):
        await apply(stage.admin.api, role)

    async def attempt() -> int:
        return (await stage.tenant.send("POST", stage.tenant.jobs, body, dryRun="All"))[0]

    await eventually(attempt, lambda status: status == 201)
    await stage.tenant.make(stage.tenant.jobs, body)


async def test_without_the_policies_any_account_may(stage: Stage) -> None:
    await stage.admin.remove(f"{POLICIES}/tidegate-keep-marks")
    number = iter(range(10_000))

    async def attempt() -> int:
        name = f"unkept-{next(number)}"
        return (await written(stage.tenant, stage, WRITES["decision"], name))[0]

    await eventually(attempt, lambda status: status == 200)
