"""One tenant against everybody: whatever he may write, quota holds and others go on.

The attempts stand in ``tests.e2e.tenant``, which says how to add one. Each is made with the
admission policies in force, and without those that refuse: the core has to be right alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from tests.e2e.cast import events_of, eventually, job_of, make_queues, remove, submit, until
from tests.e2e.ordeal import alone
from tests.e2e.tenant import (
    ATTEMPTS,
    BINDING,
    DECISION,
    FORBIDDEN,
    HIGH,
    KUEUE,
    NAMESPACE,
    PRIORITY,
    USER,
    Attempt,
    Object,
    change,
    create,
    job,
    owned,
)
from tests.e2e.tenant_forms import merged
from tidegate.cluster.install import apply
from tidegate.cluster.running import RunningServices, run_services
from tidegate.contracts.decisions import QuotaReserved, WorkloadPending
from tidegate.contracts.facts import LedgerOpened
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

pytestmark = [pytest.mark.real, pytest.mark.slow]
QUOTA = 2
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"


class Town(NamedTuple):
    """A cluster as its administrator and its tenant see it, and what runs there."""

    api: KubernetesApi
    tenant: KubernetesApi
    running: RunningServices
    policies: bool  # those that refuse are in force
    ledger_id: str


@pytest.fixture(params=["with policies", "without policies"])
async def town(
    request: pytest.FixtureRequest, api: KubernetesApi, own_api: str, tmp_path: Path
) -> AsyncIterator[Town]:
    policies = request.param == "with policies"
    await make_queues(api, {NAMESPACE: str(QUOTA)})
    queue = {"spec": {"preemption": {"withinClusterQueue": "LowerPriority"}}}
    await patched(api, f"{KUEUE}/clusterqueues/{NAMESPACE}", queue)
    for manifest in (BINDING, HIGH):
        await apply(api, manifest)
    if not policies:
        await unbind(api)
    async with (
        connect(Access(kubeconfig=own_api, impersonate=USER)) as tenant,
        run_services(alone(tmp_path, own_api), print) as running,
    ):
        await until(lambda: is_ready(tenant, policies=policies), "rights and policies are known")
        await eventually(lambda: bool(events_of(running.ledger, LedgerOpened)), "a ledger")
        [opened] = events_of(running.ledger, LedgerOpened)
        yield Town(api, tenant, running, policies, opened.ledger_id)


async def test_no_attempt_of_a_tenant_gets_round_the_quota_or_stops_others(town: Town) -> None:
    problems = list[str]()
    for number, attempt in enumerate(ATTEMPTS):
        try:
            await judged(town, attempt, f"attempt-{number}")
        except AssertionError as error:
            problems.append(str(error)[:500])
        await clear(town.api, f"attempt-{number}")
        await others_go_on(town.api, number, attempt)
    assert problems == []
    restarts = town.running.supervisor.restarts
    assert restarts == dict.fromkeys(restarts, 0)


async def test_what_quota_hangs_on_is_not_a_tenants_to_write(town: Town) -> None:
    for method, path in FORBIDDEN:
        content = MERGE_PATCH if method == "PATCH" else "application/json"
        answer = await town.tenant.request(method, path, body=b"{}", content_type=content)
        assert answer.status == 403, (method, path, answer.body)


async def judged(town: Town, attempt: Attempt, name: str) -> None:
    """Let the tenant do it, and wait until what must hold does."""
    await attempted(town, attempt, name)
    for text in (name, *([f"{name}-child"] if attempt.child else [])):
        if attempt.then == "waits":
            await until(lambda key=text: waits(town.api, key), f"{attempt.name}: {text} waits")  # type: ignore[misc]
    await until(lambda: within_quota(town.api), f"{attempt.name}: quota holds")


async def unbind(api: KubernetesApi) -> None:
    """Take all policies out of force that refuse."""
    document = msgspec.json.decode((await api.request("GET", BINDINGS)).body)
    for obj in document["items"]:
        await api.request("DELETE", f"{BINDINGS}/{obj['metadata']['name']}")


async def is_ready(tenant: KubernetesApi, *, policies: bool) -> bool:
    """Tell whether the tenant may make Jobs by now, and is refused what he shall be."""
    query, answers = {"dryRun": "All"}, list[int]()
    for marks in ({}, {DECISION: "forged/1"}):
        body = merged(job("probe", "1"), {"metadata": {"annotations": marks}})
        path = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
        made = await tenant.request("POST", path, query=query, body=msgspec.json.encode(body))
        answers.append(made.status)
    return answers == [201, 422 if policies else 201]


async def attempted(town: Town, attempt: Attempt, name: str) -> None:
    """Let the tenant do it; fail if he is answered otherwise than the row says."""
    made = await create(town.tenant, merged(job(name, attempt.cpu), attempt.job))
    assert made.status == 201, (attempt.name, made.body)
    if attempt.once == "running":
        await until(lambda: runs(town.api, name), f"{attempt.name}: it runs first")
    for place, patch in enumerate(attempt.patches):
        answer = await change(town.tenant, name, patch, town.ledger_id)
        refused = town.policies and place in attempt.refused
        assert answer.status == (422 if refused else 200), (attempt.name, place, answer.body)
    if attempt.child:
        child = await create(town.tenant, owned(attempt.child, msgspec.json.decode(made.body)))
        assert child.status == 201, (attempt.name, child.body)
    if attempt.deleted:
        await remove(town.tenant, NAMESPACE, name)
        await stays_charged(town, attempt, name)
    if attempt.preempted:
        await preempts(town, attempt, name)


async def stays_charged(town: Town, attempt: Attempt, name: str) -> None:
    """Submit a Job that fits only if what was deleted holds no quota: it must wait."""
    rival = f"{name}-rival"
    await submit(town.api, NAMESPACE, rival, cpu=str(QUOTA), seconds=600)

    def is_judged() -> bool:
        decisions = [
            *events_of(town.running.ledger, WorkloadPending),
            *events_of(town.running.ledger, QuotaReserved),
        ]
        return any(f"job-{rival}-" in decision.workload for decision in decisions)

    await eventually(is_judged, f"{attempt.name}: its rival is judged")
    assert await within_quota(town.api), attempt.name
    await remove(town.api, NAMESPACE, rival)


async def preempts(town: Town, attempt: Attempt, name: str) -> None:
    """Submit a Job of high priority; it must get all quota, and is removed."""
    high = merged(job(f"{name}-high", str(QUOTA)), {"metadata": {"labels": {PRIORITY: "high"}}})
    assert (await create(town.tenant, high)).status == 201
    await until(lambda: runs(town.api, f"{name}-high"), f"{attempt.name}: the preemptor runs")
    assert await waits(town.api, name), attempt.name
    await until(lambda: within_quota(town.api), f"{attempt.name}: quota holds")
    await remove(town.api, NAMESPACE, name)
    await remove(town.api, NAMESPACE, f"{name}-high")


async def runs(api: KubernetesApi, name: str) -> bool:
    return bool((await job_of(api, NAMESPACE, name)).get("status", {}).get("active"))


async def waits(api: KubernetesApi, name: str) -> bool:
    """Tell whether a Job is suspended without pods, or is not there."""
    obj = await job_of(api, NAMESPACE, name)
    if obj.get("kind") == "Status":
        return True
    active = obj.get("status", {}).get("active", 0)
    return bool(obj["spec"].get("suspend")) and not active


async def within_quota(api: KubernetesApi) -> bool:
    """Tell whether the pods that have not ended ask for no more than the quota, together."""
    answer = await api.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods")
    pods = msgspec.json.decode(answer.body)["items"]
    return sum(map(cpus, pods)) <= QUOTA


def cpus(pod: Object) -> int:
    ended = pod["status"].get("phase") in ("Succeeded", "Failed")
    return 0 if ended else int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


async def patched(api: KubernetesApi, path: str, patch: Object) -> None:
    body = msgspec.json.encode(patch)
    answer = await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
    assert answer.status == 200, answer.body


async def clear(api: KubernetesApi, name: str) -> None:
    """Remove a Job, whatever keeps it."""
    path = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/{name}"
    body = msgspec.json.encode({"propagationPolicy": "Background"})
    await api.request("DELETE", path, body=body)
    free = msgspec.json.encode({"metadata": {"finalizers": None}})
    await api.request("PATCH", path, body=free, content_type=MERGE_PATCH)


async def others_go_on(api: KubernetesApi, number: int, attempt: Attempt) -> None:
    name = f"bystander-{number}"
    await submit(api, NAMESPACE, name, cpu="1", seconds=1)

    async def completed() -> bool:
        obj = await job_of(api, NAMESPACE, name)
        return bool(obj.get("status", {}).get("succeeded"))

    await until(completed, f"{attempt.name}: another Job completes")
    await remove(api, NAMESPACE, name)
