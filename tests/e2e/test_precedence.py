"""Order of workloads, by boosts, gates, guarantees and flavors, on a real API server."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.e2e.cast import KUEUE, Object, job_of, make_queues, tidegate, until
from tests.e2e.living import GROUP, Living, conditions, configured
from tidegate.cluster.install import apply
from tidegate.cluster.running import RunningServices, run_services
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

pytestmark = pytest.mark.real
GATES = "featureGates: {PriorityBoost: true, MultiKueueOrchestratedPreemption: true}\n"
RETENTION = "objectRetentionPolicies: {workloads: {afterDeactivatedByKueue: 20s}}\n"
BOOST = "kueue.x-k8s.io/priority-boost"
ALLOWED = "kueue.x-k8s.io/workload-allowed-resource-flavors"
QUEUE, LONGEST = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/max-exec-time-seconds"


def audit(running: RunningServices) -> None:
    tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)


async def test_a_guarantee_and_a_gate_hold_a_boosted_workload_back(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, {"privileges": "1"})
    life = Living(api, "privileges")
    queue = f"{GROUP}/clusterqueues/privileges"
    await life.change(queue, spec={"preemption": {"withinClusterQueue": "LowerPriority"}})
    await life.change(queue, metadata={"annotations": {"tidegate.dev/min-runtime": "15s"}})
    async with run_services(configured(tmp_path, own_api, GATES), print) as running:
        await life.make("runs")
        await life.shows("runs", "Admitted=True Admitted")
        await life.make("urgent", preemptionGates=[{"name": "orchestrated"}])
        await life.change(life.path("urgent"), metadata={"annotations": {BOOST: "5"}})
        await life.shows("urgent", "QuotaReserved=False WaitingForQuota")
        story = tidegate("why", "privileges/urgent", "--ledger", running.ledger)
        assert "privileges" in story
        await life.shows("urgent", "BlockedOnPreemptionGates=True PreemptionGated")
        opened = {"position": "Open", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        await life.say("urgent", preemptionGates=[{"name": "orchestrated", **opened}])
        await life.shows("runs", "Preempted=True InClusterQueue", "Requeued=True Preempted")
        await life.shows("urgent", "Admitted=True Admitted")
        audit(running)


async def make_variant(life: Living, parent: Object, flavor: str) -> None:
    """Create a Workload that may use one flavor only and is a variant of another."""
    owner = {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "name": parent["metadata"]["name"],
        "uid": parent["metadata"]["uid"],
        "controller": True,
    }
    await life.make(flavor, about={"annotations": {ALLOWED: flavor}, "ownerReferences": [owner]})


async def make_two_flavors(api: KubernetesApi, name: str) -> Living:
    """Create a queue of one CPU of each of two flavors, the better first."""
    await make_queues(api, {name: "1"})
    for flavor in ("better", "worse"):
        head = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": flavor}}
        await apply(api, head)
    life, quota = Living(api, name), [{"name": "cpu", "nominalQuota": "1"}]
    flavors = [{"name": flavor, "resources": quota} for flavor in ("better", "worse")]
    group = {"coveredResources": ["cpu"], "flavors": flavors}
    await life.change(f"{GROUP}/clusterqueues/{name}", spec={"resourceGroups": [group]})
    return life


async def test_a_variant_moves_to_the_flavor_that_is_preferred(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    life = await make_two_flavors(api, "variants")
    gates = "featureGates: {ConcurrentAdmission: true}\n"
    async with run_services(configured(tmp_path, own_api, gates), print) as running:
        await life.make("occupies")
        await life.shows("occupies", "Admitted=True Admitted")
        await life.make("parent", active=False)
        parent = await life.read("parent")
        await make_variant(life, parent, "worse")
        await life.shows("worse", "Admitted=True Admitted")
        await make_variant(life, parent, "better")
        await life.shows("better", "QuotaReserved=False WaitingForQuota")
        await life.finish("occupies")
        await life.shows("worse", "Evicted=True FlavorMigration")
        await life.say("worse", conditions=cleared(await life.read("worse")))
        await life.shows("better", "Admitted=True Admitted")
        audit(running)


def cleared(obj: Object) -> list[Object]:
    """Return conditions that say that nothing runs any more, as an owner does."""
    held = obj["status"]["conditions"]
    return [
        condition | {"status": "False"} if condition["type"] == "QuotaReserved" else condition
        for condition in held
    ]


async def make_job(api: KubernetesApi, namespace: str, name: str, labels: dict[str, str]) -> str:
    """Create a Job that runs for a minute; return its path."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    spec = {"restartPolicy": "Never", "containers": [container]}
    template = {"metadata": {"annotations": {"simulate/seconds": "60"}}, "spec": spec}
    body = {"metadata": {"name": name, "labels": labels}, "spec": {"template": template}}
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    answer = await api.request("POST", path, body=msgspec.json.encode(body))
    assert answer.status == 201, answer.body
    return f"{path}/{name}"


@pytest.mark.slow
async def test_a_job_that_waits_changes_its_queue_and_is_stopped_when_it_ran_too_long(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, {"jobs-live": "1"})

    async def runs() -> bool:
        return bool((await job_of(api, "jobs-live", "long")).get("status", {}).get("active"))

    async def stopped() -> bool:
        response = await api.request("GET", f"{GROUP}/namespaces/jobs-live/workloads")
        values = [conditions(workload) for workload in msgspec.json.decode(response.body)["items"]]
        why = "Evicted=True DeactivatedDueToMaximumExecutionTimeExceeded"
        job = await job_of(api, "jobs-live", "long")
        return any(why in row for row in values) and bool(job.get("spec", {}).get("suspend"))

    async def gone() -> bool:
        return "spec" not in await job_of(api, "jobs-live", "long")

    async with run_services(configured(tmp_path, own_api, RETENTION), print) as running:
        path = await make_job(api, "jobs-live", "long", {QUEUE: "nowhere", LONGEST: "10"})
        body = msgspec.json.encode({"metadata": {"labels": {QUEUE: "jobs-live"}}})
        answer = await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
        assert answer.status == 200, answer.body
        await until(runs, "it runs where it was led")
        await until(stopped, "it is stopped for good when its time is over")
        await until(gone, "it is deleted when its retention is over")
        audit(running)
