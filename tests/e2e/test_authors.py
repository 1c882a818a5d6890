"""The author of a job or of a quota change is named by why, by the reports and by the facts."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.cast import KUEUE, events_of, eventually, make_queues, submit, tidegate, until
from tests.e2e.ordeal import alone
from tidegate.cluster.install import apply
from tidegate.cluster.running import RunningServices, run_services
from tidegate.contracts.facts import ClusterQueueDefined, WorkloadFinished, WorkloadSubmitted
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

pytestmark = pytest.mark.real
ROLES = "rbac.authorization.k8s.io"
BINDING = {
    "apiVersion": f"{ROLES}/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "authors"},
    "roleRef": {"apiGroup": ROLES, "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"apiGroup": ROLES, "kind": "User", "name": name} for name in ("alice", "bob")],
}


async def lower_quota(api: KubernetesApi, queue: str, cpu: str) -> bool:
    """Change a quota; a user's rights take a moment to be known."""
    quota = {"name": "cpu", "nominalQuota": cpu}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": [quota]}]}
    body = msgspec.json.encode({"spec": {"resourceGroups": [group]}})
    path = f"/apis/{KUEUE}/clusterqueues/{queue}"
    return (await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)).status == 200


async def set_stop(api: KubernetesApi, path: str, policy: str) -> None:
    """Do what ``tidegate stop`` and ``tidegate resume`` send."""
    body = msgspec.json.encode({"spec": {"stopPolicy": policy}})
    answer = await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
    assert answer.status == 200, answer


def rows(report: str, running: RunningServices) -> list[dict[str, Any]]:
    text = tidegate("report", report, "-o", "json", "--ledger", running.ledger)
    documents: list[dict[str, Any]] = msgspec.json.decode(text)
    return documents


@pytest.mark.slow
async def test_the_authors_of_a_job_and_of_a_quota_are_shown(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, {"authors": "4"})
    await apply(api, BINDING)
    async with (
        connect(Access(kubeconfig=own_api, impersonate="alice")) as alice,
        connect(Access(kubeconfig=own_api, impersonate="bob")) as bob,
        run_services(alone(tmp_path, own_api), print) as running,
    ):
        await until(lambda: lower_quota(bob, "authors", "2"), "bob lowers the quota")
        await submit(alice, "authors", "hers", cpu="1", seconds=1)
        await eventually(lambda: finished(running.ledger), "it finished")
        check_facts(running)
        story = tidegate("why", "job/hers", "-n", "authors", "--ledger", running.ledger)
        assert "Submitted to queue authors by alice" in story
        check_reports(running)
        await check_stops(alice, bob, running)
        quota = tidegate("show", "usage", "authors", "-o", "json", "--ledger", running.ledger)
        assert [row["quotaBy"] for row in msgspec.json.decode(quota)] == ["bob"]
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)


async def check_stops(alice: KubernetesApi, bob: KubernetesApi, running: RunningServices) -> None:
    """Let bob stop both queues and alice let them go on; each answer names the user."""
    whole = f"/apis/{KUEUE}/clusterqueues/authors"
    local = f"/apis/{KUEUE}/namespaces/authors/localqueues/authors"
    for path, kind, owner in (
        (whole, "ClusterQueue", "authors"),
        (local, "LocalQueue", "authors/authors"),
    ):
        for api, policy, count in ((bob, "Hold", 1), (alice, "None", 2)):
            await set_stop(api, path, policy)
            await eventually(partial(changed, running, kind, owner, count), f"{kind} {policy}")
            if (path, policy) == (whole, "Hold"):
                [row] = [row for row in rows("queues", running) if row["stop_policy"] == "Hold"]
                assert (row["cluster_queue"], row["stopped_by"]) == ("authors", "bob")
        assert stops(running, kind, owner)[-2:] == [("Hold", "bob"), ("None", "alice")]
    text = tidegate("events", "--type", "ClusterQueueDefined", "--ledger", running.ledger)
    assert [user for user in ("by bob", "by alice") if user not in text] == [], text


def changed(running: RunningServices, kind: str, owner: str, times: int) -> bool:
    return len(stops(running, kind, owner)) > times


def stops(running: RunningServices, kind: str, owner: str) -> list[tuple[str, str]]:
    """Return a queue's stop policies in order, each with its author."""
    history = sorted(rows("queue_history", running), key=lambda row: row["from_seq"])
    return [
        (row["stop_policy"], row["author"])
        for row in history
        if (row["kind"], row["owner"]) == (kind, owner)
    ]


def finished(ledger: str) -> bool:
    return any(
        event.workload.startswith("authors/") for event in events_of(ledger, WorkloadFinished)
    )


def check_facts(running: RunningServices) -> None:
    jobs = [
        event for event in events_of(running.ledger, WorkloadSubmitted) if event.queue == "authors"
    ]
    assert [job.author for job in jobs] == ["alice"]
    queues = [
        event for event in events_of(running.ledger, ClusterQueueDefined) if event.name == "authors"
    ]
    assert queues[-1].author == "bob"


def check_reports(running: RunningServices) -> None:
    quotas = [row for row in rows("quota_history", running) if row["owner"] == "authors"]
    first, lowered = sorted(quotas, key=lambda row: row["from_seq"])
    assert (first["nominal"], lowered["nominal"]) == (4, 2)
    assert first["ended_by"] == lowered["author"] == "bob"
    for report in ("usage_hourly", "waits"):  # Jobs of other tests may run beside
        of_queue = [row for row in rows(report, running) if row["cluster_queue"] == "authors"]
        assert {row["author"] for row in of_queue} == {"alice"}
