"""Tidegate's admission policies, as shipped, and the built-in equivalents do the same to Jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from apiserver.api import EmbeddedApi
from apiserver.writes.admission import EQUIVALENTS
from tests.cluster.conftest import SERVERS
from tests.cluster.talking import Object, Talk, condition_status, eventually, job
from tests.parts.kubernetes import make_namespace
from tidegate.cluster.install import install, manifests_folder, read_manifests
from tidegate.kinds.names import (
    ADMISSION_GATE,
    GROUP,
    PRIORITY_CLASS,
    QUEUE_NAME,
    SENDS_AWAY,
    TOPOLOGY_GATE,
)
from tidegate.kinds.policies.frameworks import MULTIKUEUE
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
HEAD = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"


def said(_: str) -> None:
    """Drop a message of the installation."""


@pytest.fixture(params=[SERVERS[0], SERVERS[-1]])
async def queued(request: pytest.FixtureRequest, embedded_api: EmbeddedApi) -> AsyncIterator[Talk]:
    """Lend a server on which Tidegate is installed and in force."""
    async with AsyncExitStack() as stack:
        if request.param == "in process":
            kube = Talk(embedded_api, await make_namespace(embedded_api), embedded_api.compact)
        else:
            access = Access(kubeconfig=request.getfixturevalue("own_api"))
            real = await stack.enter_async_context(connect(access))
            kube = Talk(real, await make_namespace(real), lambda: None)
        await install(kube.api, manifests_folder(), said)
        yield kube


async def probe(kube: Talk) -> Object:
    """Make a Job in a queue, to see what the policies know by now."""
    body = labelled("", queue="probe")
    body["metadata"] = {"generateName": "probe-", "labels": body["metadata"]["labels"]}
    body["spec"]["managedBy"] = "example.com/absent"
    return await kube.make(kube.jobs, body)


def labelled(name: str, queue: str, **spec: Any) -> Object:  # noqa: ANN401 - any field
    body = job(name, **spec)
    body["metadata"]["labels"] = {QUEUE_NAME: queue}
    return body


async def make_queue(kube: Talk, name: str) -> None:
    path = f"{KUEUE}/namespaces/{kube.namespace}/localqueues"
    spec = {"clusterQueue": "main"}
    await kube.make(path, {**HEAD, "kind": "LocalQueue", "metadata": {"name": name}, "spec": spec})


async def test_a_queued_job_is_suspended_when_it_is_made(queued: Talk) -> None:
    made = await queued.make(queued.jobs, labelled("a", "some", suspend=False))
    assert made["spec"]["suspend"] is True
    await queued.until(f"{queued.jobs}/a", lambda obj: condition_status(obj, "Suspended") == "True")
    assert (await queued.get(queued.pods))["items"] == []


async def test_a_queued_job_can_be_started_later(queued: Talk) -> None:
    await queued.make(queued.jobs, labelled("a", "some"))
    changed = await queued.merge(f"{queued.jobs}/a", {"spec": {"suspend": False}})
    assert changed["spec"]["suspend"] is False


async def test_a_job_without_a_queue_runs(queued: Talk) -> None:
    made = await queued.make(queued.jobs, job("a"))
    assert made["spec"]["suspend"] is False
    assert QUEUE_NAME not in made["metadata"]["labels"]


async def test_a_job_gets_its_namespaces_default_queue(queued: Talk) -> None:
    await make_queue(queued, "default")
    body = job("a")
    body["metadata"]["labels"] = {"mine": "yes"}
    body["metadata"]["generateName"] = body["metadata"].pop("name")

    async def attempt() -> Object:
        return await queued.make(queued.jobs, body)

    # A real server learns of a policy's parameter a moment after it was made.
    made = await eventually(attempt, lambda obj: obj["metadata"]["labels"].get(QUEUE_NAME))
    assert made["metadata"]["labels"] == {"mine": "yes", QUEUE_NAME: "default"}
    assert made["spec"]["suspend"] is True


async def test_a_job_keeps_the_queue_that_it_names(queued: Talk) -> None:
    await make_queue(queued, "default")
    made = await queued.make(queued.jobs, labelled("a", "other"))
    assert made["metadata"]["labels"][QUEUE_NAME] == "other"


async def test_multikueue_runs_a_job_of_a_queue_that_leads_to_worker_clusters(
    queued: Talk,
) -> None:
    for name in ("here", "away"):
        await make_queue(queued, name)
    condition = {"type": SENDS_AWAY, "status": "True", "reason": "HasMultiKueueCheck"}
    shown = {**condition, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    path = f"{KUEUE}/namespaces/{queued.namespace}/localqueues/away/status"
    await queued.merge(path, {"status": {"conditions": [shown]}})

    async def attempt(queue: str = "away") -> Object:
        body = labelled("", queue)
        body["metadata"] = {"generateName": "a-", "labels": body["metadata"]["labels"]}
        return await queued.make(queued.jobs, body)

    made = await eventually(attempt, lambda obj: obj["spec"].get("managedBy") == MULTIKUEUE)
    assert made["spec"]["suspend"] is True
    assert "managedBy" not in (await attempt("here"))["spec"]
    other = labelled("mine", "away", managedBy="example.com/mine")
    assert (await queued.make(queued.jobs, other))["spec"]["managedBy"] == "example.com/mine"


async def test_a_queued_job_gets_the_default_priority(queued: Talk) -> None:
    path = f"{KUEUE}/workloadpriorityclasses"
    body = {**HEAD, "kind": "WorkloadPriorityClass", "metadata": {"name": "default"}, "value": 5}
    await queued.make(path, body)
    try:
        made = await eventually(
            lambda: probe(queued), lambda obj: obj["metadata"]["labels"].get(PRIORITY_CLASS)
        )
        assert made["metadata"]["labels"][PRIORITY_CLASS] == "default"
    finally:
        await queued.remove(f"{path}/default")


async def test_what_a_known_kind_makes_is_left_alone(queued: Talk) -> None:
    body = labelled("a", "some", suspend=False, managedBy="example.com/absent")
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "controller": True}
    uid = "00000000-0000-4000-8000-000000000000"
    body["metadata"]["ownerReferences"] = [owner | {"name": "parent", "uid": uid}]
    assert (await queued.make(queued.jobs, body))["spec"]["suspend"] is False


async def test_without_its_policy_an_equivalent_does_nothing(embedded_api: EmbeddedApi) -> None:
    kube = Talk(embedded_api, await make_namespace(embedded_api), embedded_api.compact)
    made = await kube.make(kube.jobs, labelled("a", "some", suspend=False))
    assert made["spec"]["suspend"] is False
    await install(kube.api, manifests_folder(), said)
    await kube.remove(f"{POLICIES}/tidegate-suspend-batch-job")
    made = await kube.make(kube.jobs, labelled("b", "some", suspend=False))
    assert made["spec"]["suspend"] is False


async def test_a_queued_pod_is_gated_where_that_policy_is(embedded_api: EmbeddedApi) -> None:
    kube = Talk(embedded_api, await make_namespace(embedded_api), embedded_api.compact)
    for kind, spec in (("", {}), ("bindings", {"policyName": "tidegate-gate-pods"})):
        plural = f"mutatingadmissionpolic{'y' if kind else 'ies'}{kind}"
        path = f"/apis/admissionregistration.k8s.io/v1/{plural}"
        await kube.make(path, {"metadata": {"name": "tidegate-gate-pods"}, "spec": spec})
    body = {"metadata": {"name": "a", "labels": {QUEUE_NAME: "some"}}, "spec": {"containers": []}}
    body["spec"] = {"containers": [{"name": "main", "image": "i"}]}
    made = await kube.make(kube.pods, body)
    assert made["spec"]["schedulingGates"] == [{"name": ADMISSION_GATE}, {"name": TOPOLOGY_GATE}]


def test_every_shipped_policy_about_new_jobs_has_an_equivalent_or_is_a_limit() -> None:
    shipped = {
        obj["metadata"]["name"]: obj["spec"]["matchConstraints"]["resourceRules"]
        for obj in read_manifests(Path(manifests_folder()) / "policies")
        if obj["kind"] == "MutatingAdmissionPolicy"
    }
    about_jobs = {
        name
        for name, rules in shipped.items()
        if any(GROUP not in rule["apiGroups"] for rule in rules)
    }
    assert about_jobs - {"tidegate-author-jobs"} <= set(EQUIVALENTS)
