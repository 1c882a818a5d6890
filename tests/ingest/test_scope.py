"""Which jobs are managed, as the configuration says, on the embedded API server."""

from __future__ import annotations

from ingest.jobs.scope import Scope
from tests.ingest.scene import session
from tests.parts.stage import JOBS, Stage, alongside, job
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved
from tidegate.model.podset import LabelSelector, Requirement

TEAMS = Scope(
    namespaces=LabelSelector(
        labels={"batch": "yes"},
        expressions=(
            Requirement(key="tier", operator="In", values=("gold", "silver")),
            Requirement(key="tier", operator="NotIn", values=("silver",)),
            Requirement(key="off", operator="DoesNotExist"),
            Requirement(key="batch", operator="Exists"),
        ),
    )
)
LABELS = {"batch": "yes", "tier": "gold"}
NAMESPACE = "/api/v1/namespaces/default"


async def queues(stage: Stage, name: str = "train") -> list[str]:
    observations = [
        observation for observation in await stage.heard() if isinstance(observation, JobObserved)
    ]
    return [observation.queue for observation in observations if observation.name == name]


def test_a_job_without_a_queue_is_reported_by_its_name_alone() -> None:
    async def run() -> None:
        stage = Stage()
        made = job(parallelism=3)
        del made["metadata"]["labels"]
        stage.make(JOBS, made)
        async with alongside(session(stage).run()):
            seen = await stage.hear(JobObserved)
            stage.change(f"{JOBS}/train", {"spec": {"parallelism": 5}})
            await stage.hear(Heartbeat, lambda beat: beat.beat > 3)
        assert (seen.queue, seen.podsets) == ("", ())
        assert await queues(stage) == [""]

    run_virtually(run())


def test_a_job_without_a_queue_is_reported_in_full_where_all_are_managed() -> None:
    async def run() -> None:
        stage = Stage()
        made = job(parallelism=3)
        del made["metadata"]["labels"]
        stage.make(JOBS, made)
        async with alongside(session(stage, scope=Scope(without_queue=True)).run()):
            seen = await stage.hear(JobObserved)
        assert seen.podsets[0].count == 3

    run_virtually(run())


def test_jobs_of_the_system_are_left_alone() -> None:
    async def run() -> None:
        stage = Stage()
        made = job()
        made["metadata"]["namespace"] = "kube-system"
        stage.make(JOBS.replace("default", "kube-system"), made)
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
        assert await queues(stage) == [""]

    run_virtually(run())


def test_a_namespace_that_is_labelled_makes_its_jobs_managed_and_back() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(JOBS, job())
        async with alongside(session(stage, scope=TEAMS).run()):
            await stage.hear(Heartbeat)
            stage.change(NAMESPACE, {"metadata": {"labels": LABELS}})
            await stage.hear(JobObserved, lambda observation: observation.queue == "main")
            stage.change(NAMESPACE, {"metadata": {"labels": {"off": "now"}}})
            await stage.hear(Heartbeat, lambda beat: beat.beat > 5)
        assert await queues(stage) == ["", "main", ""]

    run_virtually(run())
