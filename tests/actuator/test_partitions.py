"""An actuator shows its own partition's queues and workloads, and leaves the others' alone."""

from __future__ import annotations

import pytest

from tests.actuator.story import AT_US, QUEUES, Story
from tests.parts.stage import KUEUE, Object, alongside, eventually, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.fact_kinds.definitions import (
    ClusterQueueRemoved,
    LocalQueueDefined,
    QueueElsewhere,
)
from tidegate.contracts.facts import TimePassed, WorkloadRemoved
from tidegate.model.ids import DECIDED_ELSEWHERE
from tidegate.model.quota import LocalQueueSpec

QUEUE, LOCAL = f"{KUEUE}/clusterqueues/cq", f"{KUEUE}/namespaces/default/localqueues/main"
OTHER, OTHERS = f"{KUEUE}/clusterqueues/other", f"{KUEUE}/namespaces/default/localqueues/others"
ELSEWHERE = QueueElsewhere(at_us=AT_US, name="other", uid="uid-other", partition=1)
LEADS_THERE = LocalQueueDefined(
    at_us=AT_US, namespace="default", name="others", spec=LocalQueueSpec(cluster_queue="other")
)
KEPT = 10
FILLER = tuple(TimePassed(at_us=AT_US) for _ in range(KEPT))


class Two(Story):
    """A story with a queue of another partition beside its own."""

    def __init__(self, *, own: int = 0, events_max: int = 500_000) -> None:
        super().__init__(events_max=events_max)
        self.own = own
        self.make(f"{KUEUE}/clusterqueues", kueue("ClusterQueue", "other"))
        local = kueue("LocalQueue", "others", clusterQueue="other")
        self.make(f"{KUEUE}/namespaces/default/localqueues", local)
        for path, number in ((QUEUE, own), (OTHER, 1 - own)):
            annotations = {"tidegate.dev/partition": str(number)}
            self.change(path, {"metadata": {"annotations": annotations}})

    def statuses(self) -> dict[str, Object]:
        return {path: self.status(path) for path in (OTHER, OTHERS)}

    async def shown(self, name: str = "a1") -> None:
        """Have an actuator show the admitted workload, until it is."""
        async with alongside(self.actuator(name, projects=True, partition=self.own).run()):
            await eventually(lambda: self.condition("Admitted")[0] == "True")
            await eventually(lambda: self.status(LOCAL).get("admittedWorkloads") == 1)


@pytest.mark.parametrize("own", [0, 1])
def test_queues_of_others_have_no_status_of_this_one(own: int) -> None:
    async def run() -> None:
        story = Two(own=own)
        granted = story.submitted(), story.reserved(), story.admitted()
        await story.write(ELSEWHERE, LEADS_THERE, *QUEUES, *granted)
        await story.shown()
        assert story.statuses() == {OTHER: {}, OTHERS: {}}

    run_virtually(run())


def test_a_local_queue_that_leads_nowhere_any_more_is_partition_0_s_to_show() -> None:
    async def run() -> None:
        story = Two()
        await story.write(*QUEUES, ELSEWHERE, LEADS_THERE, story.submitted())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.shows() is not None)
            await story.write(ClusterQueueRemoved(at_us=AT_US, name="other", uid="uid-other"))
            await eventually(lambda: bool(story.status(OTHERS).get("conditions")))
        assert story.status(OTHERS)["conditions"][0]["status"] == "False"

    run_virtually(run())


def test_a_workload_that_another_decides_about_by_now_stays_as_it_is() -> None:
    async def run() -> None:
        story = Two()
        await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.condition("Admitted")[0] == "True")
            before = story.shows()
            gone = WorkloadRemoved(
                at_us=AT_US, workload=story.key, uid=story.uid, reason=DECIDED_ELSEWHERE
            )
            await story.write(gone)
            await eventually(lambda: story.status(LOCAL)["admittedWorkloads"] == 0)
        async with alongside(story.actuator("heir", projects=True).run()):
            await eventually(lambda: ("GET", f"{KUEUE}/workloads") in story.api.requests)
        assert story.shows() == before

    run_virtually(run())


@pytest.mark.parametrize("own", [0, 1])
def test_what_events_lost_is_read_back_of_own_objects_alone(own: int) -> None:
    async def run() -> None:
        story = Two(own=own, events_max=KEPT)
        granted = story.submitted(), story.reserved(), story.admitted()
        await story.write(*QUEUES, *granted)
        await story.shown()
        await story.write(*FILLER)
        for path, count in ((LOCAL, 8), (QUEUE, 8), (OTHERS, 9), (OTHER, 9)):
            story.change(f"{path}/status", {"status": {"admittedWorkloads": count}})
        for partition, shows in ((own, LOCAL), (1 - own, OTHERS)):
            before = {path: story.status(path) for path in (LOCAL, QUEUE, OTHERS, OTHER)}
            heir = story.actuator(f"heir-{partition}", projects=True, partition=partition)
            story.api.requests.clear()
            async with alongside(heir.run()):
                await story.write(*FILLER)
                count = 1 if shows == LOCAL else 0
                await eventually(lambda: admitted(story, shows) == count)  # noqa: B023 - at once
            unchanged = (OTHERS, OTHER) if shows == LOCAL else (LOCAL, QUEUE)
            assert all(story.status(path) == before[path] for path in unchanged)

    run_virtually(run())


def admitted(story: Story, path: str) -> int:
    return int(story.status(path)["admittedWorkloads"])
