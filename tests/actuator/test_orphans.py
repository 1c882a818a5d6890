"""Workloads that a job leaves behind, on the embedded API server: finished, or gone with it."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.metrics import Metrics
from actuator.projection.read_model import ReadModel
from actuator.writing.removal import WorkloadRemover
from tests.actuator.story import AT_US, QUEUES, Story
from tests.parts.stage import JOBS, alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.facts import JobStateReported, WorkloadFinished, WorkloadRemoved
from tidegate.contracts.observations import JobState

FINISHED = ("True", "OwnerNotFound", "Its job was deleted and left it behind.")


def test_a_workload_without_its_job_is_finished() -> None:
    async def run() -> None:
        story = Story()
        await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.condition("Admitted")[0] == "True")
            story.change(story.path, {"metadata": {"ownerReferences": None}})
            story.remove(f"{JOBS}/train")
            await story.write(WorkloadRemoved(at_us=AT_US, workload=story.key, uid=story.uid))
            await eventually(lambda: story.condition("Finished") == FINISHED)

    run_virtually(run())


def test_an_unknown_workload_is_finished_at_the_start() -> None:
    async def run() -> None:
        story = Story()
        await story.write(*QUEUES, story.submitted())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.shows() is not None)
        story.change(story.path, {"metadata": {"ownerReferences": None}})
        await story.write(WorkloadRemoved(at_us=AT_US, workload=story.key, uid=story.uid))
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.condition("Finished") == FINISHED)

    run_virtually(run())


def test_a_workload_stays_though_the_garbage_collector_does_not_know_its_kind_yet() -> None:
    async def run() -> None:
        story = Story()
        await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.condition("Admitted")[0] == "True")
            left = JobState(deleting=True, orphaning=True, active=1)
            await story.write(
                JobStateReported(at_us=AT_US, workload=story.key, uid=story.uid, state=left)
            )
            story.remove(f"{JOBS}/train")  # its Workload still names it as its owner
            await story.write(WorkloadRemoved(at_us=AT_US, workload=story.key, uid=story.uid))
            await eventually(lambda: story.condition("Finished") == FINISHED)
            shown = story.shows()
            assert shown is not None
            assert "ownerReferences" not in shown["metadata"]

    run_virtually(run())


def test_a_finished_workload_that_its_job_leaves_stays() -> None:
    async def run() -> None:
        story = Story()
        done = WorkloadFinished(
            at_us=AT_US, workload=story.key, uid=story.uid, reason="Succeeded", message="Done."
        )
        gone = WorkloadRemoved(at_us=AT_US, workload=story.key, uid=story.uid)
        await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.shows() is not None)
            await story.write(done)
            await eventually(lambda: story.condition("Finished")[1] == "Succeeded")
        story.change(story.path, {"metadata": {"ownerReferences": None}})
        story.remove(f"{JOBS}/train")
        read_model = ReadModel()
        for event in (story.submitted(), done, gone):
            read_model.apply_event(event, "ledger/1")
        await WorkloadRemover(
            Calls(story.api, Metrics(CollectorRegistry())), read_model
        ).remove_workload(story.key)
        assert story.condition("Finished")[1] == "Succeeded"

    run_virtually(run())


def test_a_workload_is_not_made_again_for_a_job_that_is_being_deleted() -> None:
    async def run() -> None:
        story = Story()
        await story.write(*QUEUES, story.submitted())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.shows() is not None)
            story.change(f"{JOBS}/train", {"metadata": {"finalizers": ["orphan"]}})
            story.remove(f"{JOBS}/train")
            story.remove(story.path)
            await story.write(story.reserved(), story.admitted())
            await eventually(lambda: story.used() != "0")
        assert story.shows() is None

    run_virtually(run())
