"""The Workloads of an elastic job: which follows which, of how many pods, and their end."""

from __future__ import annotations

from msgspec.structs import replace

from tests.actuator.story import AT_US, QUEUES, Story
from tests.parts.stage import KUEUE, Object, alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import QuotaReleased
from tidegate.contracts.facts import (
    JobStateReported,
    WorkloadChanged,
    WorkloadRemoved,
    WorkloadSubmitted,
)
from tidegate.contracts.observations import JobState
from tidegate.model.podset import PodSet

WORKLOADS = f"{KUEUE}/namespaces/default/workloads"
SLICE = "kueue.x-k8s.io/workload-slice-name"
REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"


def submitted(story: Story, pods: int) -> WorkloadSubmitted:
    return replace(story.submitted(), elastic=True, podsets=(PodSet(count=pods),))


def slice_of(story: Story, pods: int, before: str, number: int) -> WorkloadSubmitted:
    event = submitted(story, pods)
    key, uid = f"{story.key}-{number}", f"{story.uid}/{number}"
    return replace(event, workload=key, uid=uid, replaces=before)


def found(story: Story, key: str) -> Object:
    return story.read(f"{WORKLOADS}/{key.partition('/')[2]}")


def count(story: Story, key: str) -> int:
    pods: int = found(story, key)["spec"]["podSets"][0]["count"]
    return pods


def test_each_slice_names_the_first_and_the_one_that_it_replaces() -> None:
    async def run() -> None:
        story = Story()
        second, third = f"{story.key}-2", f"{story.key}-3"
        await story.write(*QUEUES, submitted(story, 1), slice_of(story, 2, story.key, 2))
        await story.write(slice_of(story, 3, second, 3))
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: len(story.read(WORKLOADS)["items"]) == 3)
        marks = [found(story, key)["metadata"]["annotations"] for key in (story.key, second, third)]
        first = story.key.partition("/")[2]
        assert [mark[SLICE] for mark in marks] == [first] * 3
        assert [mark.get(REPLACES) for mark in marks] == [None, story.key, second]
        assert [count(story, key) for key in (story.key, second, third)] == [1, 2, 3]
        owners = [obj["metadata"]["ownerReferences"] for obj in story.read(WORKLOADS)["items"]]
        assert {value["uid"] for (value,) in owners} == {story.uid}

    run_virtually(run())


def test_a_slice_that_was_replaced_is_finished_and_one_that_is_not_wanted_goes() -> None:
    async def run() -> None:
        story = Story()
        slice_told = slice_of(story, 2, story.key, 2)
        first = submitted(story, 1), story.reserved(), story.admitted()
        await story.write(*QUEUES, *first, slice_told, slice_of(story, 4, story.key, 4))
        released = QuotaReleased(
            at_us=AT_US, workload=story.key, uid=story.uid, reason="WorkloadSliceReplaced"
        )
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: len(story.read(WORKLOADS)["items"]) == 3)
            gone = WorkloadRemoved(at_us=AT_US, workload=f"{story.key}-4", uid=f"{story.uid}/4")
            await story.write(released, gone)
            await eventually(lambda: story.condition("Finished")[0] == "True")
            await eventually(lambda: len(story.read(WORKLOADS)["items"]) == 2)
        assert story.condition("Finished")[1] == "WorkloadSliceReplaced"
        assert story.condition("QuotaReserved")[0] == "True"

    run_virtually(run())


def test_a_job_that_shrinks_shows_it_in_place_and_uses_less() -> None:
    async def run() -> None:
        story = Story()
        reserved = story.reserved()
        given = tuple(
            replace(assignment, count=3, usage={"cpu": 1_500}) for assignment in reserved.assignment
        )
        events = submitted(story, 3), replace(reserved, assignment=given), story.admitted()
        fewer = WorkloadChanged(
            at_us=AT_US, workload=story.key, uid=story.uid, queue="main", podsets=(PodSet(count=1),)
        )
        await story.write(*QUEUES, *events)
        async with alongside(story.actuator(projects=True).run()):
            queue = f"{KUEUE}/clusterqueues/cq"
            await eventually(lambda: "flavorsUsage" in story.status(queue))
            await eventually(lambda: story.used() == "1500m")
            assert count(story, story.key) == 3
            await story.write(fewer)
            await eventually(lambda: count(story, story.key) == 1)
            await eventually(lambda: story.used() == "500m")

    run_virtually(run())


def test_a_job_that_came_back_larger_shows_it() -> None:
    async def run() -> None:
        story = Story()
        events = submitted(story, 1), story.reserved(), story.admitted()
        more = WorkloadChanged(
            at_us=AT_US, workload=story.key, uid=story.uid, queue="main", podsets=(PodSet(count=3),)
        )
        await story.write(*QUEUES, *events)
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.condition("Admitted")[0] == "True")
            await story.write(more)
            await eventually(lambda: count(story, story.key) == 3)
            await eventually(lambda: story.condition("Admitted")[0] == "True")

    run_virtually(run())


def test_a_workload_says_which_generation_of_its_job_it_was_written_for() -> None:
    async def run() -> None:
        story = Story()
        second = f"{story.key}-2"
        first = submitted(story, 1), story.reserved(), story.admitted()
        await story.write(*QUEUES, *first, slice_of(story, 2, story.key, 2))
        event = JobStateReported(
            at_us=AT_US, workload=story.key, uid=story.uid, version=9, state=JobState(generation=7)
        )
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: len(story.read(WORKLOADS)["items"]) == 2)
            await story.write(event)
            await eventually(lambda: generation(story, story.key) == "7")
            assert generation(story, second) == "0"
            taken = replace(story.reserved(), workload=second, uid=f"{story.uid}/2")
            await story.write(taken)
            await eventually(lambda: generation(story, second) == "7")  # it follows the first one

    run_virtually(run())


def test_a_workload_says_that_its_job_is_of_an_earlier_generation_again() -> None:
    """A cluster that was restored has its jobs as they were; a slice says so from then on, too."""

    async def run() -> None:
        story = Story()
        second = f"{story.key}-2"
        first = submitted(story, 1), story.reserved(), story.admitted()
        await story.write(*QUEUES, *first, slice_of(story, 2, story.key, 2))
        taken = replace(story.reserved(), workload=second, uid=f"{story.uid}/2")
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: len(story.read(WORKLOADS)["items"]) == 2)
            await story.write(at_generation(story, 7, 1))
            await eventually(lambda: generation(story, story.key) == "7")
            await story.write(at_generation(story, 5, 2))
            await eventually(lambda: generation(story, story.key) == "5")
            await story.write(taken, at_generation(story, 4, 3, slice_="-2"))
            await eventually(lambda: generation(story, second) == "4")

    run_virtually(run())


def at_generation(
    story: Story, generation: int, later_us: int, *, slice_: str = ""
) -> JobStateReported:
    """Return that the job of a story was seen at a generation."""
    return JobStateReported(
        at_us=AT_US + later_us,
        workload=f"{story.key}{slice_}",
        uid=f"{story.uid}{slice_.replace('-', '/')}",
        version=9,
        state=JobState(generation=generation),
    )


def generation(story: Story, key: str) -> str:
    marks: dict[str, str] = found(story, key)["metadata"]["annotations"]
    return marks["tidegate.dev/generation"]
