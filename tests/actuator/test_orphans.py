"""Workloads that a job leaves behind, on the embedded API server: finished, or gone with it."""

from __future__ import annotations

from tests.actuator.story import AT_US, QUEUES, Story
from tests.parts.stage import JOBS, alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.facts import WorkloadRemoved

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


def test_a_workload_that_nobody_told_of_is_finished_at_the_start() -> None:
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
