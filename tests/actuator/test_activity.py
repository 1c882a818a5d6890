"""A deactivation is written once, beside its decision: a user's later activation is left alone."""

from __future__ import annotations

from tests.actuator.scene import LEDGER
from tests.actuator.story import AT_US, QUEUES, Story
from tests.parts.stage import alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import WorkloadDeactivated
from tidegate.contracts.facts import PodsReclaimed

NOTE = "tidegate.dev/deactivated"


def is_active(story: Story) -> bool:
    return bool(story.read(story.path)["spec"].get("active", True))


def note(story: Story) -> str:
    return str(story.read(story.path)["metadata"]["annotations"].get(NOTE, ""))


def deactivated(story: Story) -> WorkloadDeactivated:
    return WorkloadDeactivated(at_us=AT_US, workload=story.key, reason="FailedToStart")


def reclaimed(story: Story, pods: int) -> PodsReclaimed:
    return PodsReclaimed(at_us=AT_US, workload=story.key, reclaimable={"main": pods})


def test_an_activation_before_the_deactivation_is_seen_is_not_written_over() -> None:
    async def run() -> None:
        story = Story()
        async with alongside(story.actuator(projects=True).run()):
            seq = await story.write(*QUEUES, story.submitted(), deactivated(story))
            await eventually(lambda: story.shows() is not None and not is_active(story))
            assert note(story) == f"{LEDGER}/{seq}"
            story.change(story.path, {"spec": {"active": True}})
            await story.write(reclaimed(story, 1))
            await eventually(lambda: bool(story.status(story.path).get("reclaimablePods")))
            assert is_active(story)

    run_virtually(run())


def test_a_later_deactivation_is_written_again() -> None:
    async def run() -> None:
        story = Story()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, story.submitted(), deactivated(story))
            await eventually(lambda: story.shows() is not None and not is_active(story))
            story.change(story.path, {"spec": {"active": True}})
            seq = await story.write(deactivated(story))
            await eventually(lambda: not is_active(story))
            assert note(story) == f"{LEDGER}/{seq}"

    run_virtually(run())
