"""A Workload made directly: its order and what it shows are one write."""

from __future__ import annotations

import asyncio

from tests.actuator.story import AT_US, QUEUES, Story
from tests.parts.stage import KUEUE, Object, alongside, eventually, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import (
    QuotaReserved,
    StartOrdered,
    StopOrdered,
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadPending,
)
from tidegate.contracts.facts import Event, WorkloadSubmitted
from tidegate.model.ids import ObjectRef

WORKLOADS = f"{KUEUE}/namespaces/default/workloads"
PATH, KEY = f"{WORKLOADS}/mine", "default/mine"


class Direct(Story):
    """A Workload that a user made, and what the scheduler says of it."""

    def __init__(self) -> None:
        super().__init__()
        template = self.job()["spec"]["template"]
        podsets = [{"name": "main", "count": 1, "template": template}]
        self.mine = self.make(
            WORKLOADS, kueue("Workload", "mine", queueName="main", podSets=podsets)
        )
        self.mine_ref = ObjectRef(
            kind="workload", namespace="default", name="mine", uid=self.mine["metadata"]["uid"]
        )

    def of_mine(self) -> Object:
        return {"at_us": AT_US, "workload": KEY, "uid": self.mine_ref.uid}

    def waits(self) -> Event:
        return WorkloadPending(
            **self.of_mine(), cluster_queue="cq", reason="WaitingForQuota", message="why"
        )

    def granted(self) -> tuple[Event, ...]:
        mine = self.of_mine()
        return (
            QuotaReserved(**mine, cluster_queue="cq", assignment=self.reserved().assignment),
            WorkloadAdmitted(**mine, cluster_queue="cq"),
            StartOrdered(**mine, job=self.mine_ref, generation=1),
        )

    def taken(self) -> tuple[Event, ...]:
        mine = self.of_mine()
        return (
            WorkloadEvicted(**mine, cluster_queue="cq", reason="Preempted", message="why"),
            StopOrdered(**mine, job=self.mine_ref, reason="Preempted"),
        )

    def condition_statuses(self) -> dict[str, str]:
        conditions = self.read(PATH).get("status", {}).get("conditions", [])
        return {condition["type"]: condition["status"] for condition in conditions}

    def finish_mine(self) -> None:
        current_conditions = self.read(PATH)["status"]["conditions"]
        over = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": ""}
        since = {"lastTransitionTime": "2026-03-01T00:00:00Z"}
        self.change(
            f"{PATH}/status", {"status": {"conditions": [*current_conditions, {**over, **since}]}}
        )

    def reads(self) -> list[str]:
        return [path for method, path in self.api.requests if method == "GET" and path == PATH]

    def writes(self) -> int:
        paths = [path for method, path in self.api.requests if method == "PATCH"]
        return sum(path.startswith(PATH) for path in paths)


def test_a_start_and_what_it_shows_are_one_write() -> None:
    async def run() -> None:
        story = Direct()
        submitted = WorkloadSubmitted(**story.of_mine(), job=story.mine_ref, queue="main")
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, submitted, story.waits())
            await eventually(lambda: story.condition_statuses().get("QuotaReserved") == "False")
            before = story.writes()
            await story.write(*story.granted())
            await eventually(
                lambda: story.condition_statuses().get("tidegate.dev/StartRequested") == "True"
            )
            assert story.condition_statuses()["Admitted"] == "True"
            assert story.writes() == before + 1
            await story.write(*story.taken())
            await eventually(
                lambda: story.condition_statuses()["tidegate.dev/StartRequested"] == "False"
            )
            assert story.condition_statuses()["Evicted"] == "True"
            assert story.writes() == before + 2

    run_virtually(run())


def test_a_workload_without_annotations_is_patched_in_its_status_alone() -> None:
    async def run() -> None:
        story = Direct()
        submitted = WorkloadSubmitted(**story.of_mine(), job=story.mine_ref, queue="main")
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, submitted, story.waits())
            await eventually(lambda: story.condition_statuses().get("QuotaReserved") == "False")
            await story.write(*story.granted())
            await eventually(lambda: story.condition_statuses().get("Admitted") == "True")
            await asyncio.sleep(5)
        patched = [path for method, path in story.api.requests if method == "PATCH"]
        assert [path for path in patched if path.startswith(PATH)] == [f"{PATH}/status"] * 2

    run_virtually(run())


def test_a_workload_that_its_user_has_finished_stays_as_it_was_then() -> None:
    async def run() -> None:
        story = Direct()
        submitted = WorkloadSubmitted(**story.of_mine(), job=story.mine_ref, queue="main")
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, submitted, *story.granted())
            await eventually(
                lambda: story.condition_statuses().get("tidegate.dev/StartRequested") == "True"
            )
            story.finish_mine()
            before = len(story.reads())
            await story.write(*story.taken())  # it was decided before that was heard of
            await eventually(lambda: len(story.reads()) > before)
            await story.write(story.submitted(), story.reserved())
            await eventually(lambda: story.condition("QuotaReserved")[0] == "True")
        assert story.condition_statuses()["Finished"] == "True"
        assert "Evicted" not in story.condition_statuses()

    run_virtually(run())


def test_a_reservation_that_is_not_started_says_whose_it_is() -> None:
    async def run() -> None:
        story = Direct()
        submitted = WorkloadSubmitted(**story.of_mine(), job=story.mine_ref, queue="main")
        await story.write(*QUEUES, submitted, story.granted()[0])
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.condition_statuses().get("QuotaReserved") == "True")
        assert story.condition_statuses()["tidegate.dev/StartRequested"] == "False"

    run_virtually(run())
