"""What people may do by Kueue's ClusterRoles, as the API server adds them up."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from tests.rights.asked import Right
from tidegate.kinds.policies.frameworks import FRAMEWORKS
from tidegate.kinds.rights import job_people_roles, people_roles
from tidegate.kube.client import KubernetesClient

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
DEADLINE_S = 60
KUEUE = "kueue.x-k8s.io"


def test_each_kind_has_a_viewer_and_an_editor_by_kueues_names() -> None:
    names = {obj["metadata"]["name"] for obj in people_roles(FRAMEWORKS)}
    assert len(names) == len(people_roles(FRAMEWORKS))
    kinds = ("clusterqueue", "localqueue", "workload", "resourceflavor", "job", "rayjob", "mpijob")
    sorts = ("viewer", "editor")
    assert {f"kueue-{kind}-{sort}-role" for kind in kinds for sort in sorts} <= names
    assert {"kueue-batch-admin-role", "kueue-batch-user-role"} <= names


def test_a_viewer_may_change_nothing() -> None:
    for obj in people_roles(FRAMEWORKS):
        if obj["metadata"]["name"].endswith("-viewer-role"):
            verbs = {verb for rule in obj["rules"] for verb in rule["verbs"]}
            assert verbs == {"get", "list", "watch"}
    assert all("/status" not in rule or verbs == ["get"] for rule, verbs in _written())


def _written() -> list[tuple[str, list[str]]]:
    rules = [rule for person in job_people_roles(FRAMEWORKS) for rule in person["rules"]]
    return [(rule["resources"][0], rule["verbs"]) for rule in rules]


@pytest.mark.real
async def test_users_submit_and_look_and_admins_set_quota_too(admin: KubernetesClient) -> None:
    user = await rights(admin, "kueue-batch-user-role", Right("batch", "jobs", "create"))
    assert {Right(KUEUE, "localqueues", "list"), Right(KUEUE, "workloads", "get")} <= user
    changes = {right for right in user if right.verb not in {"get", "list", "watch"}}
    assert {right.group for right in changes}.isdisjoint({KUEUE})
    assert Right(KUEUE, "clusterqueues", "list") not in user
    both = await rights(admin, "kueue-batch-admin-role", Right(KUEUE, "clusterqueues", "update"))
    assert user < both
    await rights(admin, "view", Right(KUEUE, "localqueues", "list"))


async def rights(admin: KubernetesClient, role: str, wanted: Right) -> set[Right]:
    """Return what a role gives once the API server's controllers have added it up."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            answer = await admin.request("GET", f"{ROLES}/{role}")
            rules = msgspec.json.decode(answer.body).get("rules") or []
            values = {
                Right(group, resource, verb)
                for rule in rules
                for group in rule.get("apiGroups") or []
                for resource in rule.get("resources") or []
                for verb in rule["verbs"]
            }
            if wanted in values:
                return values
            await asyncio.sleep(0.2)
