"""Kueue's visibility API: its documents, its form, positions from 0, parts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.serve.conftest import Client
from tidegate.serve.visibility.discovery import VERSIONS

ROOT = "/apis/visibility.kueue.x-k8s.io"
OF_QUEUE = "clusterqueues/team-a/pendingworkloads"
OF_DOOR = "namespaces/a/localqueues/main/pendingworkloads"
HUGE: dict[str, Any] = {
    "metadata": {
        "name": "job-huge-d526e",
        "namespace": "a",
        "creationTimestamp": "2026-03-02T08:55:00Z",
        "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "huge", "uid": "uid-a-huge"}
        ],
    },
    "priority": 0,
    "localQueueName": "main",
    "positionInClusterQueue": 0,
    "positionInLocalQueue": 0,
}


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@pytest.mark.parametrize(("who", "path"), [("queues", OF_QUEUE), ("local", OF_DOOR)])
def test_waiting_workloads_are_shown_in_the_form_of_kueue(
    served: Client, version: str, who: str, path: str
) -> None:
    answer = served(who).get(f"{ROOT}/{version}/{path}")
    assert answer.json() == {
        "kind": "PendingWorkloadsSummary",
        "apiVersion": f"visibility.kueue.x-k8s.io/{version}",
        "metadata": {},
        "items": [HUGE],
    }


@pytest.mark.parametrize(
    ("query", "count", "status"),
    [
        ("limit=0", 1, 200),
        ("offset=1", 0, 200),
        ("limit=x", 0, 400),
        ("limit=-1", 0, 200),  # Kueue's own answers
        ("offset=-1", 1, 200),
    ],
)
def test_parts_are_reported(served: Client, query: str, count: int, status: int) -> None:
    answer = served("queues").get(f"{ROOT}/v1beta2/{OF_QUEUE}?{query}")
    assert answer.status_code == status
    assert len(answer.json().get("items", [])) == count


@pytest.mark.parametrize(
    ("who", "path"),
    [
        ("queues", "clusterqueues/nothing/pendingworkloads"),
        ("local", "namespaces/a/localqueues/nothing/pendingworkloads"),
    ],
)
def test_a_queue_that_is_unknown_is_not_found(served: Client, who: str, path: str) -> None:
    answer = served(who).get(f"{ROOT}/v1beta2/{path}")
    assert (answer.status_code, answer.json()["reason"]) == (404, "NotFound")


def test_the_documents_are_open_and_name_what_is_there(served: Client) -> None:
    groups = {group["name"]: group for group in served("").get("/apis").json()["groups"]}
    assert groups.keys() == VERSIONS.keys()
    for group, versions in VERSIONS.items():
        assert served("").get(f"/apis/{group}").json() == groups[group]
        for version in versions:
            answer = served("").get(f"/apis/{group}/{version}").json()
            assert answer["groupVersion"] == f"{group}/{version}"
            assert [resource["name"] for resource in answer["resources"] if resource["verbs"]]
            # What could be listed and deleted would be looked for in every namespace that goes.
            verbs = {verb for resource in answer["resources"] for verb in resource["verbs"]}
            assert verbs == {"get"}
