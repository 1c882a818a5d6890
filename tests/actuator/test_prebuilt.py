"""Workloads that were made for a job: shown and owned, never made, gone only when they expire."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from tests.actuator.story import AT_US, QUEUES, Story
from tests.parts.stage import JOBS, KUEUE, Object, alongside, eventually, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import WorkloadExpired
from tidegate.contracts.facts import WorkloadFinished, WorkloadRemoved, WorkloadSubmitted

WORKLOADS = f"{KUEUE}/namespaces/default/workloads"


def made(story: Story, **meta: object) -> Object:
    """Make a Workload under the key that the story's job has."""
    template = story.job()["spec"]["template"]
    podsets = [{"name": "main", "count": 1, "template": template}]
    obj = kueue("Workload", story.key.partition("/")[2], queueName="main", podSets=podsets)
    obj["metadata"] |= meta
    return story.make(WORKLOADS, obj)


def submitted(story: Story) -> WorkloadSubmitted:
    return replace(story.submitted(), prebuilt=story.key.partition("/")[2])


def test_a_job_becomes_the_owner_of_its_workload() -> None:
    async def run() -> None:
        story = Story()
        made(story, labels={"mine": "1"})
        await story.write(*QUEUES, submitted(story), story.reserved(), story.admitted())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.condition("Admitted")[0] == "True")
        meta = (story.shows() or {})["metadata"]
        assert [
            (reference["uid"], reference["controller"]) for reference in meta["ownerReferences"]
        ] == [(story.uid, True)]
        assert meta["labels"] == {"mine": "1", "kueue.x-k8s.io/job-uid": story.uid}

    run_virtually(run())


def test_one_that_was_made_again_for_a_namesake_shows_that_ones_quota() -> None:
    async def run() -> None:
        story = Story()
        made(story)
        await story.write(*QUEUES, submitted(story), story.reserved())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.condition("QuotaReserved")[0] == "True")
            await story.write(WorkloadRemoved(at_us=AT_US, workload=story.key, uid=story.uid))
            key = story.key
            story.remove(story.path)
            story.remove(f"{JOBS}/train")
            story.submit()
            story.key = key  # the name is its owner's choice
            made(story)
            await story.write(submitted(story), story.reserved())
            await eventually(lambda: story.condition("QuotaReserved")[0] == "True")
        assert (story.shows() or {})["metadata"]["ownerReferences"][0]["uid"] == story.uid

    run_virtually(run())


def test_what_is_another_ones_is_not_touched() -> None:
    async def run() -> None:
        story = Story()
        owner = {"apiVersion": "a/v1", "kind": "A", "name": "a", "uid": "a", "controller": True}
        before = made(story, ownerReferences=[owner])
        await story.write(*QUEUES, submitted(story), story.reserved())
        async with alongside(story.actuator(projects=True).run()):
            await asyncio.sleep(20)
        assert story.shows() == before

    run_virtually(run())


def test_a_prebuilt_workload_is_never_made_and_stays_when_its_job_leaves() -> None:
    async def run() -> None:
        story = Story()
        await story.write(*QUEUES, submitted(story))
        async with alongside(story.actuator(projects=True).run()):
            await asyncio.sleep(20)
            assert story.shows() is None
            made(story)
            await story.write(WorkloadRemoved(at_us=AT_US, workload=story.key, uid=story.uid))
            await asyncio.sleep(20)
            assert story.shows() is not None

    run_virtually(run())


def test_a_workload_goes_that_expired_while_no_replica_was_active() -> None:
    async def run() -> None:
        story = Story()
        made(story)
        of: Object = {"at_us": AT_US, "workload": story.key, "uid": story.uid}
        over = WorkloadFinished(**of, reason="OutOfSync"), WorkloadExpired(**of)
        await story.write(*QUEUES, submitted(story), *over)
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.shows() is None)

    run_virtually(run())
