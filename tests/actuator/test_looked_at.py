"""What users are sent to look at by Kueue's own pages: Events on the job, requests that wait."""

from __future__ import annotations

from tests.actuator.scene import ref
from tests.actuator.story import AT_US, QUEUES, Story
from tests.parts.stage import KUEUE, alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import StopOrdered, WorkloadPending


def test_a_waiting_workload_shows_what_it_asks_for_until_it_has_quota() -> None:
    async def run() -> None:
        story = Story()
        asked = {"main": {"cpu": 1_500, "memory": 1024**3}}
        waits = WorkloadPending(
            at_us=AT_US, workload=story.key, reason="WaitingForQuota", requests=asked
        )
        shown = [{"name": "main", "resources": {"cpu": "1500m", "memory": "1Gi"}}]
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, story.submitted(), waits)
            await eventually(lambda: story.shows() is not None)
            await eventually(lambda: story.status(story.path).get("resourceRequests") == shown)
            await story.write(story.reserved())
            await eventually(lambda: "resourceRequests" not in story.status(story.path))

    run_virtually(run())


def test_a_job_gets_events_of_its_workload_and_that_it_is_suspended() -> None:
    async def run() -> None:
        story = Story()
        stop = StopOrdered(
            at_us=AT_US, workload=story.key, job=ref(story.made), reason="NotAdmitted"
        )
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES)
            await eventually(lambda: bool(story.status(f"{KUEUE}/clusterqueues/cq")))
            await story.write(story.submitted(), stop)
            await eventually(lambda: len(story.events()) == 2)
        assert story.events() == [("Job", "CreatedWorkload"), ("Job", "Stopped")]

    run_virtually(run())
