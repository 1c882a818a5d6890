"""Jobs that use a Workload that their owner made, on a real API server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.cast import Object, events_of, eventually, job_of, make_queues, post, tidegate, until
from tests.e2e.living import Living
from tests.e2e.ordeal import alone
from tidegate.cluster.running import RunningServices, run_services
from tidegate.contracts.facts import WorkloadSubmitted
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"


async def submit(
    api: KubernetesApi, namespace: str, name: str, workload: str, seconds: int
) -> None:
    """Create a Job of one pod that names a Workload."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"annotations": {"simulate/seconds": str(seconds)}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    labels = {"kueue.x-k8s.io/queue-name": namespace, PREBUILT: workload}
    job = {"metadata": {"name": name, "labels": labels}, "spec": {"template": template}}
    answer = await post(api, f"/apis/batch/v1/namespaces/{namespace}/jobs", job)
    assert answer.status == 201, answer.body


async def job_is(
    api: KubernetesApi, namespace: str, name: str, what: str, holds: Callable[[Object], bool]
) -> None:
    async def seen() -> bool:
        return holds(await job_of(api, namespace, name))

    await until(seen, f"Job {name} {what}")


def known(running: RunningServices, job: str) -> bool:
    """Tell whether the ledger knows a job."""
    return any(event.job.name == job for event in events_of(running.ledger, WorkloadSubmitted))


async def test_a_job_runs_as_its_workload_says_and_only_then(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    space = "prebuilt"
    await make_queues(api, {space: "2"})
    life = Living(api, space)
    async with run_services(alone(tmp_path, own_api), print) as running:
        await submit(api, space, "train", "made", 10)
        await eventually(lambda: known(running, "train"), "the job is known")

        async def waits() -> bool:
            answer = tidegate("why", f"{space}/job/train", "--ledger", running.ledger)
            return "Workload/made" in answer

        await until(waits, "the job waits for its Workload")
        await life.make("made")
        await life.shows("made", "Admitted=True Admitted")
        await life.wish("made", active=False)
        await life.shows("made", "Evicted=True Deactivated", "Admitted=False NoReservation")
        await job_is(api, space, "train", "is suspended", lambda obj: obj["spec"]["suspend"])
        (owner,) = (await life.read("made"))["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("Job", "train", True)
        await life.delete("made")
        await life.make("made")
        await life.shows("made", "Finished=True Succeeded")
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)


async def test_a_workload_ends_whose_job_asks_for_something_else(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    space = "out-of-sync"
    await make_queues(api, {space: "4"})
    life = Living(api, space)
    async with run_services(alone(tmp_path, own_api), print) as running:
        await life.make("early")
        await life.shows("early", "Admitted=True Admitted")
        await submit(api, space, "runs", "early", 600)
        await job_is(api, space, "runs", "is started", lambda obj: not obj["spec"]["suspend"])
        await life.make("wrong", pods=2)
        await submit(api, space, "never", "wrong", 600)
        await life.shows("wrong", "Finished=True OutOfSync")
        assert (await job_of(api, space, "never"))["spec"]["suspend"]
        await life.delete("early")
        await job_is(api, space, "runs", "is stopped", lambda obj: obj["spec"]["suspend"])
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)
