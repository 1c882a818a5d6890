"""One tenant against everybody: whatever he may write, quota holds and others go on.

The attempts stand in ``tests.e2e.tenant``. After each, what he tried must have come to nothing, and
another Job of the same queue must still be started and complete.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.e2e.cast import eventually, job_of, make_queues, remove, submit, told, until
from tests.e2e.ordeal import alone
from tests.e2e.tenant import (
    ATTEMPTS,
    BINDING,
    NAMESPACE,
    USER,
    Attempt,
    Object,
    change,
    create,
    job,
    merged,
    owned,
)
from tidegate.cluster.install import apply
from tidegate.cluster.running import Running, run_services
from tidegate.contracts.facts import LedgerOpened
from tidegate.kube.client import Access, connect
from tidegate.kube.ports import KubernetesApi

pytestmark = [pytest.mark.real, pytest.mark.slow]


async def test_no_attempt_of_a_tenant_gets_round_the_quota_or_stops_others(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, {NAMESPACE: "2"})
    await apply(api, BINDING)
    async with (
        connect(Access(kubeconfig=own_api, impersonate=USER)) as tenant,
        run_services(alone(tmp_path, own_api), print) as running,
    ):
        await until(lambda: may_edit(tenant), "the tenant's rights are known")
        await eventually(lambda: bool(told(running.ledger, LedgerOpened)), "a ledger")
        for number, attempt in enumerate(ATTEMPTS):
            name = f"attempt-{number}"
            if not await attempted(api, tenant, attempt, name, running):
                continue  # the API server refuses it
            for one in (name, *([f"{name}-child"] if attempt.child else [])):
                if attempt.then == "waits":
                    await until(lambda one=one: waits(api, one), f"{attempt.name}: {one} waits")  # type: ignore[misc]
            await others_go_on(api, number, attempt)
            await remove(api, NAMESPACE, name)
        assert running.supervisor.restarts == dict.fromkeys(running.supervisor.restarts, 0)


async def may_edit(tenant: KubernetesApi) -> bool:
    query = {"dryRun": "All"}
    body = msgspec.json.encode(job("probe", "1"))
    path = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
    return (await tenant.request("POST", path, query=query, body=body)).status == 201


async def attempted(
    api: KubernetesApi, tenant: KubernetesApi, attempt: Attempt, name: str, running: Running
) -> bool:
    """Let the tenant do it; tell whether the API server let him make the Job at all."""
    [opened] = told(running.ledger, LedgerOpened)
    made = await create(tenant, merged(job(name, attempt.cpu), attempt.job))
    if made.status != 201:
        return False
    if attempt.once == "running":
        await until(lambda: runs(api, name), f"{attempt.name}: it runs first")
    for patch in attempt.patches:
        await change(tenant, name, patch, opened.ledger_id)
    if attempt.child:
        await create(tenant, owned(attempt.child, msgspec.json.decode(made.body)))
    return True


async def runs(api: KubernetesApi, name: str) -> bool:
    return bool((await job_of(api, NAMESPACE, name)).get("status", {}).get("active"))


async def waits(api: KubernetesApi, name: str) -> bool:
    """Tell whether a Job is suspended without pods, or runs as it was admitted, or is not there."""
    found = await job_of(api, NAMESPACE, name)
    if found.get("kind") == "Status":
        return True
    return bool(found["spec"].get("suspend")) and not active(found)


def active(found: Object) -> int:
    return int(found.get("status", {}).get("active", 0))


async def others_go_on(api: KubernetesApi, number: int, attempt: Attempt) -> None:
    name = f"bystander-{number}"
    await submit(api, NAMESPACE, name, cpu="1", seconds=1)

    async def completed() -> bool:
        found = await job_of(api, NAMESPACE, name)
        return bool(found.get("status", {}).get("succeeded"))

    await until(completed, f"{attempt.name}: another Job completes")
    await remove(api, NAMESPACE, name)
