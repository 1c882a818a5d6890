"""What a job's own labels and annotations say of managers and copies: any user may write them."""

from __future__ import annotations

from typing import Any

import pytest

from ingest.jobs.scope import Scope
from tests.ingest.scene import session
from tests.ingest.test_placed import ORIGIN, Keeper
from tests.parts.stage import JOBS, KUEUE, Object, Stage, alongside, job, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import JobObserved
from tidegate.kinds import names
from tidegate.model.multikueue import CONTROLLER

WORKLOADS = f"{KUEUE}/namespaces/default/workloads"
SENT = {names.MANAGER: "multikueue"}
NOTES = {names.ELASTIC_JOB: "true", names.PREBUILT_WORKLOAD: "copy"}


def elastic(**spec: Any) -> Object:  # noqa: ANN401 - any field
    """Return a job that says that a manager sent it, elastic and without a gate for its pods."""
    made = job(**spec)
    made["metadata"]["annotations"] = dict(NOTES)
    made["metadata"]["labels"] |= SENT
    return made


def workload(*, sent: bool, is_elastic: bool) -> Object:
    podsets = [{"name": "main", "count": 1, "template": job()["spec"]["template"]}]
    obj = kueue("Workload", "copy", queueName="main", podSets=podsets)
    obj["metadata"]["labels"] = SENT if sent else {}
    obj["metadata"]["annotations"] = {names.ELASTIC_JOB: "true"} if is_elastic else {}
    return obj


def forged_copy() -> Object:
    """Return a job that runs, asks for a queue, and says that it is a copy."""
    made = job(suspend=False)
    made["metadata"]["annotations"] = dict(ORIGIN)
    return made


async def kept(stage: Stage) -> JobObserved:
    """Return what is reported of the job where bodies are kept."""
    async with alongside(session(stage, keeper=Keeper(stage)).run()):
        observation: JobObserved = await stage.hear(JobObserved)
        return observation


async def seen(stage: Stage) -> JobObserved:
    async with alongside(session(stage, scope=Scope(elastic=True)).run()):
        observation: JobObserved = await stage.hear(JobObserved, is_whole)
        return observation


def is_whole(observation: JobObserved) -> bool:
    return observation.name == "train" and bool(observation.podsets)


def test_an_elastic_job_that_names_no_copy_has_to_have_its_gate() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(JOBS, elastic(suspend=False))
        observation = await seen(stage)
        assert (observation.ungated, observation.gates) == (True, ("Workload/copy",))

    run_virtually(run())


@pytest.mark.parametrize(
    ("sent", "is_elastic"), [(True, True), (True, False), (False, True), (False, False)]
)
def test_an_elastic_job_is_one_with_an_elastic_workload_that_was_sent_and_no_other(
    *, sent: bool, is_elastic: bool
) -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(WORKLOADS, workload(sent=sent, is_elastic=is_elastic))
        stage.make(JOBS, elastic(suspend=False))
        observation = await seen(stage)
        joins = sent and is_elastic
        assert (observation.workload == "default/copy") is joins
        assert (observation.ungated, bool(observation.gates)) == (not joins, not joins)

    run_virtually(run())


def test_a_gate_called_like_multikueue_says_nothing_of_the_jobs_controller() -> None:
    async def run() -> None:
        stage = Stage()
        made = job()
        made["metadata"]["annotations"] = {names.ADMISSION_GATED_BY: f"mine, {CONTROLLER}"}
        stage.make(JOBS, made)
        observation = await seen(stage)
        assert observation.gates == ("mine", f"{names.ADMISSION_GATED_BY}: {CONTROLLER}")

    run_virtually(run())


def test_a_job_that_asks_for_a_queue_and_says_that_it_is_a_copy_must_not_run() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(JOBS, forged_copy())
        observation = await kept(stage)
        assert (observation.stray, observation.state.suspended) == ("Unreadable", False)
        assert observation.copy is not None

    run_virtually(run())


def test_a_job_that_has_ended_is_not_to_be_stopped_whatever_it_says() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(JOBS, forged_copy())
        done = {"type": "Complete", "status": "True"}
        stage.change(f"{JOBS}/train/status", {"status": {"conditions": [done]}})
        observation = await kept(stage)
        assert (observation.stray, observation.finished) == (None, "Succeeded")

    run_virtually(run())
