"""Nothing is shown before everything was heard of: what Kueue reserved would be taken away."""

from __future__ import annotations

import asyncio

from tests.actuator.story import AT_US, QUEUES, Story
from tests.parts.stage import alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.facts import RoundCompleted, WatchesExpected

JOBS, WORKLOADS = "jobs.batch", "workloads.kueue.x-k8s.io"
DEFINED = tuple(event for event in QUEUES if not type(event).__name__.endswith("Changed"))


def listed(resource: str) -> RoundCompleted:
    return RoundCompleted(at_us=AT_US, resource=resource, session="a", round=1, list_version=1)


def test_a_workload_is_shown_once_everything_was_listed() -> None:
    async def run() -> None:
        story = Story()
        expected = WatchesExpected(at_us=AT_US, resources=(JOBS, WORKLOADS))
        await story.write(expected, *DEFINED, story.submitted(), listed(JOBS))
        async with alongside(story.actuator(projects=True).run()):
            await asyncio.sleep(60)
            assert story.shows() is None
            await story.write(listed(WORKLOADS))
            await eventually(lambda: story.shows() is not None)

    run_virtually(run())


def test_a_decision_shows_that_everything_was_listed() -> None:
    async def run() -> None:
        story = Story()
        await story.write(*DEFINED, story.submitted())
        async with alongside(story.actuator(projects=True).run()):
            await asyncio.sleep(60)
            assert story.shows() is None
            await story.write(story.reserved())
            await eventually(lambda: story.shows() is not None)

    run_virtually(run())
