"""Policies put to AdmissionRequests: what they change, and what none of them may stop."""

from __future__ import annotations

from typing import Any

import pytest
from jsonpatch import JsonPatch

from tidegate.errors import ApiUnreachableError
from tidegate.kinds.manifests import policies
from tidegate.kinds.names import ADMISSION_GATE, PRIORITY_CLASS, QUEUE_NAME, TOPOLOGY_GATE
from tidegate.kinds.policies.frameworks import NAMES
from tidegate.kinds.policies.webhooks import by_path
from tidegate.model.multikueue import CONTROLLER
from tidegate.webhook.expressions import Expression, ExpressionError
from tidegate.webhook.mutating import FindParam, Patch, Policy, compile_policies, mutate

Object = dict[str, Any]
SERVING = ("deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset")
MANIFESTS = policies((*NAMES, *SERVING))
POLICIES = compile_policies(by_path(MANIFESTS)["/mutate/0"], MANIFESTS)


def asked(resource: str, obj: object, operation: str = "CREATE", **more: str) -> Object:
    group, _, plural = resource.rpartition("/")
    version = {"kueue.x-k8s.io": "v1beta1"}.get(group, "v1")
    fields = {"group": group, "version": version, "resource": plural}
    user = {"username": "mara", "groups": ["system:authenticated"]}
    request = {"uid": "u", "resource": fields, "operation": operation, "namespace": "team"}
    return {**request, "userInfo": user, "object": obj, "oldObject": None, **more}


async def missing(*_: str) -> Object | None:
    return None


async def called_default(*_: str) -> Object | None:
    return {"metadata": {"name": "default"}}


async def answered(
    request: Object, find: FindParam = missing, among: tuple[Policy, ...] = POLICIES
) -> tuple[Patch, list[str]]:
    failed = list[str]()
    patch = await mutate(among, request, find, lambda name, _: failed.append(name))
    return patch, failed


def job(**labels: str) -> Object:
    return {"metadata": {"name": "a", "labels": labels}, "spec": {"template": {}}}


async def test_a_queued_job_is_suspended_and_bears_its_author() -> None:
    fields = job(**{QUEUE_NAME: "main"})
    patch, failed = await answered(asked("batch/jobs", fields))
    after = JsonPatch(patch).apply(fields)
    assert (after["spec"]["suspend"], after["metadata"]["annotations"]) == (
        True,
        {"tidegate.dev/author": "mara"},
    )
    assert failed == []


async def test_a_job_without_a_queue_is_not_suspended() -> None:
    patch, _ = await answered(asked("batch/jobs", job()))
    assert [operation["path"] for operation in patch if "suspend" in operation["path"]] == []


async def test_defaults_of_a_namespace_count_for_the_policies_before_them() -> None:
    """A queue that one policy gives makes another one suspend: all are asked twice."""
    manifest = {"metadata": {"name": "a"}, "spec": {"template": {}}}
    patch, failed = await answered(asked("batch/jobs", manifest), called_default)
    after = JsonPatch(patch).apply(manifest)
    assert after["metadata"]["labels"] == {QUEUE_NAME: "default", PRIORITY_CLASS: "default"}
    assert (after["spec"]["suspend"], failed) == (True, [])


async def test_a_pod_is_gated_beside_the_gates_that_it_has() -> None:
    spec = {"containers": [], "schedulingGates": [{"name": "mine"}, {"name": ADMISSION_GATE}]}
    manifest = {"metadata": {"labels": {QUEUE_NAME: "main"}}, "spec": spec}
    patch, _ = await answered(asked("/pods", manifest))
    gates = JsonPatch(patch).apply(manifest)["spec"]["schedulingGates"]
    assert [gate["name"] for gate in gates] == ["mine", ADMISSION_GATE, TOPOLOGY_GATE]


AWAY = {"type": "tidegate.dev/MultiKueue", "status": "True"}


@pytest.mark.parametrize(
    ("resource", "spec", "conditions", "after"),
    [
        ("batch/jobs", {}, [AWAY], {"managedBy": CONTROLLER}),
        (
            "batch/jobs",
            {"managedBy": "kubernetes.io/job-controller"},
            [AWAY],
            {"managedBy": CONTROLLER},
        ),
        (
            "batch/jobs",
            {"managedBy": "example.com/mine"},
            [AWAY],
            {"managedBy": "example.com/mine"},
        ),
        ("batch/jobs", {}, [], {}),
        ("batch/jobs", {}, [AWAY | {"status": "False"}], {}),
        ("kubeflow.org/pytorchjobs", {}, [AWAY], {"runPolicy": {"managedBy": CONTROLLER}}),
        (
            "kubeflow.org/tfjobs",
            {"runPolicy": {}},
            [AWAY],
            {"runPolicy": {"managedBy": CONTROLLER}},
        ),
    ],
)
async def test_the_controller_of_a_job_whose_queue_leads_to_worker_clusters(
    resource: str, spec: Object, conditions: list[Object], after: Object
) -> None:
    async def find(_: str, kind: str, __: str, name: str) -> Object | None:
        queue = {"metadata": {"name": name}, "status": {"conditions": conditions}}
        return queue if (kind, name) == ("LocalQueue", "main") else None

    manifest = {"metadata": {"name": "a", "labels": {QUEUE_NAME: "main"}}, "spec": spec}
    patch, failed = await answered(asked(resource, manifest), find)
    made = JsonPatch(patch).apply(manifest)["spec"]
    made.pop("suspend", None)
    made.get("runPolicy", {}).pop("suspend", None)
    assert (made, failed) == (after, [])


async def test_a_manifest_of_the_older_version_is_spelled_anew() -> None:
    manifest = {"metadata": {"name": "a"}, "spec": {"cohort": "all"}}
    patch, _ = await answered(asked("kueue.x-k8s.io/clusterqueues", manifest))
    assert JsonPatch(patch).apply(manifest)["spec"] == {"cohortName": "all"}


async def test_numbers_stay_whole() -> None:
    domains = [{"values": ["a"], "count": 2}]
    fields = {"topologyAssignment": {"levels": ["rack"], "domains": domains}}
    status = {"admission": {"podSetAssignments": [fields]}}
    request = asked("kueue.x-k8s.io/workloads", {"status": status}, "UPDATE", subResource="status")
    patch, failed = await answered(request)
    (document,) = [each for each in patch if "topologyAssignment" in each["path"]]
    assert document["value"]["slices"][0]["podCounts"] == {"universal": 2}
    assert isinstance(document["value"]["slices"][0]["podCounts"]["universal"], int)
    assert failed == []


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"metadata": None},
        {"metadata": {"labels": [1, 2]}},
        {"metadata": {"labels": {QUEUE_NAME: {"a": 1}}}, "spec": []},
        {"metadata": {"ownerReferences": "all"}, "spec": {"suspend": "no"}},
        {"metadata": {"labels": {QUEUE_NAME: "q"}}, "spec": None},
        [],
        "text",
        None,
    ],
)
@pytest.mark.parametrize("resource", ["batch/jobs", "/pods", "kueue.x-k8s.io/clusterqueues"])
async def test_whatever_an_object_is_like_nothing_is_raised(resource: str, value: object) -> None:
    patch, _ = await answered(asked(resource, value))
    assert isinstance(patch, list)


async def test_a_policy_that_fails_is_reported_and_the_others_go_on() -> None:
    async def away(*_: str) -> Object | None:
        raise ApiUnreachableError("no server answers")

    patch, failed = await answered(asked("batch/jobs", job(**{QUEUE_NAME: "main"})), away)
    asking = {"tidegate-default-queue", "tidegate-default-priority", "tidegate-manage-batch-job"}
    assert set(failed) == asking
    assert "/spec/suspend" in [operation["path"] for operation in patch]


async def test_what_no_policy_is_about_is_left_alone() -> None:
    for request in (
        asked("apps/replicasets", job(**{QUEUE_NAME: "main"})),
        asked("batch/jobs", job(**{QUEUE_NAME: "main"}), "DELETE"),
        asked("batch/jobs", job(**{QUEUE_NAME: "main"}), subResource="status"),
    ):
        assert await answered(request) == ([], [])


def test_what_is_no_cel_is_refused_when_it_is_read() -> None:
    with pytest.raises(ExpressionError, match=r"undeclared reference to 'nothing\.at\.all'"):
        Expression("nothing.at.all")


def test_what_cannot_be_evaluated_says_why() -> None:
    with pytest.raises(ExpressionError, match="spec"):
        Expression("object.spec.suspend").evaluate({"object": {}})
