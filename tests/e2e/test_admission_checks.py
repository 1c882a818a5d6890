"""Admission checks whose controllers are not ours: the example, and hands that write late."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from tests.e2e.cast import KUEUE, Object, job_of, make_queues, tidegate, until
from tests.e2e.living import GROUP, Living
from tests.e2e.ordeal import alone
from tidegate.cli.ledger.reading import open_reader
from tidegate.cluster.install import apply
from tidegate.cluster.running import RunningServices, run_services
from tidegate.kinds.names import CHECKS_SINCE
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
UNSATISFIED = "Admitted=False UnsatisfiedAdmissionChecks"
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "admission_check.py"
ACTIVE = {
    "type": "Active",
    "status": "True",
    "reason": "Active",
    "message": "A test attends to it.",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
AT = "2026-01-01T00:00:00Z"


async def make_checked_queue(api: KubernetesApi, name: str, *more: str) -> Living:
    """Create a queue of one CPU with a check of its name, and perhaps more checks."""
    for check in (name, *more):
        head = {"apiVersion": KUEUE, "kind": "AdmissionCheck", "metadata": {"name": check}}
        await apply(api, {**head, "spec": {"controllerName": "example.com/cost-center"}})
    await make_queues(api, {name: "1"})
    life = Living(api, name)
    strategy = {"admissionChecks": [{"name": check} for check in (name, *more)]}
    path = f"{GROUP}/clusterqueues/{name}"
    await life.change(path, spec={"admissionChecksStrategy": strategy})
    return life


@asynccontextmanager
async def example(
    kubeconfig: str, running: RunningServices, check: str
) -> AsyncGenerator[None, None]:
    """Run the example's controller until the end of the block."""
    arguments = ("--nats", running.nats_url, "--kubeconfig", kubeconfig, "--check", check)
    controller = await asyncio.create_subprocess_exec(sys.executable, EXAMPLE, *arguments)
    try:
        yield
    finally:
        controller.terminate()
        assert await controller.wait() == -signal.SIGTERM  # it ran until it was told to end


async def submit(api: KubernetesApi, namespace: str, name: str, labels: dict[str, str]) -> None:
    """Create a queued Job whose pods bear labels."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    spec = {"restartPolicy": "Never", "containers": [container]}
    job = {
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": namespace}},
        "spec": {"template": {"metadata": {"labels": labels}, "spec": spec}},
    }
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    answer = await api.request("POST", path, body=msgspec.json.encode(job))
    assert answer.status == 201, answer.body


async def workload_of(api: KubernetesApi, namespace: str, job: str) -> Object:
    """Return the Workload of a Job; empty if there is none yet."""
    answer = await api.request("GET", f"{GROUP}/namespaces/{namespace}/workloads")
    documents: list[Object] = msgspec.json.decode(answer.body)["items"]
    return next((obj for obj in documents if obj["metadata"]["name"].startswith(f"job-{job}-")), {})


async def test_the_examples_controller_lets_jobs_start_and_rejects_others(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_checked_queue(api, "priced")

    async def rejected() -> bool:
        obj = await workload_of(api, "priced", "free")
        return bool(obj) and obj["spec"].get("active") is False

    async def completed() -> bool:
        job = await job_of(api, "priced", "paid")
        return bool(job.get("status", {}).get("succeeded"))

    async with run_services(alone(tmp_path, own_api), print) as running:
        async with example(own_api, running, "priced"):
            await submit(api, "priced", "free", {})
            await until(rejected, "the Job without a cost center is rejected")
            await submit(api, "priced", "paid", {"cost-center": "42"})
            await until(completed, "the Job with a cost center completes")
        started = await job_of(api, "priced", "paid")
        annotations = started["spec"]["template"]["metadata"]["annotations"]
        assert annotations["example.com/charged-to"] == "42"
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)


def state(obj: Object) -> str:
    """Return the state of a Workload's only check; empty if it shows none."""
    states = [check["state"] for check in obj["status"].get("admissionChecks", ())]
    return states[0] if states else ""


async def asked(life: Living, running: RunningServices, name: str) -> None:
    """Wait until a Workload's checks are asked for: what is said before that may be the past."""

    async def noted() -> bool:
        since = await asyncio.to_thread(reserved_at, running.ledger)
        obj = await life.read(name)
        current_conditions = obj.get("status", {}).get("conditions", ())
        note = next(
            (
                condition["message"]
                for condition in current_conditions
                if condition["type"] == CHECKS_SINCE
            ),
            "/0",
        )
        return bool(since) and int(note.rpartition("/")[2]) >= since and state(obj) == "Pending"

    await until(noted, f"{name}: its checks are asked for")


def reserved_at(ledger: str) -> int:
    """Return the seq of the newest reservation; 0 if there was none."""
    with open_reader(ledger) as reader:
        seqs = [entry.seq for entry in reader.entries() if entry.type == "QuotaReserved"]
    return max(seqs, default=0)


async def say(life: Living, name: str, text: str, **more: object) -> None:
    """Write the state of a Workload's check as a controller does."""
    fields = {
        "name": life.namespace,
        "state": text,
        "lastTransitionTime": AT,
        "message": "",
        **more,
    }
    await life.say(name, admissionChecks=[fields])


@pytest.mark.slow
async def test_a_reservation_begins_with_pending_checks_whatever_was_said_before(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    life = await make_checked_queue(api, "again")
    await life.change(f"{GROUP}/admissionchecks/again/status", status={"conditions": [ACTIVE]})
    async with run_services(alone(tmp_path, own_api), print) as running:
        await life.make("one")
        await asked(life, running, "one")
        await say(life, "one", "Ready")
        await life.shows("one", "Admitted=True Admitted")
        await life.stop_queue("localqueues", "HoldAndDrain")
        await life.shows("one", "Evicted=True LocalQueueStopped", "QuotaReserved=False Suspended")
        await life.until("one", lambda obj: state(obj) == "Pending", "begins anew")
        await life.stop_queue("localqueues", "None")
        await life.shows("one", "QuotaReserved=True QuotaReserved", UNSATISFIED)
        await asked(life, running, "one")
        await say(life, "one", "Retry", requeueAfterSeconds=15)
        await life.shows("one", "Evicted=True AdmissionCheck", "Requeued=False AdmissionCheck")
        await life.shows("one", "Requeued=True BackoffFinished", "QuotaReserved=True QuotaReserved")
        await asked(life, running, "one")
        await say(life, "one", "Ready")
        await life.shows("one", "Admitted=True Admitted")
        await say(life, "one", "Rejected")
        await life.until("one", lambda obj: obj["spec"]["active"] is False, "is deactivated")
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)


async def test_checks_that_contradict_each_other_keep_a_workload_from_its_start(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    life = await make_checked_queue(api, "torn", "torn-too")
    for name in ("torn", "torn-too"):
        await life.change(f"{GROUP}/admissionchecks/{name}/status", status={"conditions": [ACTIVE]})
    async with run_services(alone(tmp_path, own_api), print) as running:
        await life.make("one")
        await asked(life, running, "one")
        documents = [
            {"name": name, "state": "Ready", "lastTransitionTime": AT, "message": ""}
            | {"podSetUpdates": [{"name": "main", "labels": {"team": name}}]}
            for name in ("torn", "torn-too")
        ]
        await life.say("one", admissionChecks=documents)
        await life.until("one", lambda obj: obj["spec"]["active"] is False, "is deactivated")
        await life.shows("one", "Evicted=True DeactivatedDueToFailedToStart")
        obj = await life.read("one")
        mapping = {condition["type"]: condition for condition in obj["status"]["conditions"]}
        assert "check torn-too wants label team=torn-too" in mapping["Evicted"]["message"]
        assert mapping.get("Admitted", {"status": "False"})["status"] == "False"
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)
