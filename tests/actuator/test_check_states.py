"""Admission checks are asked for on the Workload, and begin anew with each reservation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
from msgspec.structs import replace

from tests.actuator.scene import LEDGER
from tests.actuator.story import AT_US, QUEUES, SECOND_US, Story
from tests.bus.memory.faults import Fate
from tests.parts.stage import KUEUE, Object, alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import (
    QuotaReleased,
    ReservationRepeated,
    WorkloadDeactivated,
    WorkloadEvicted,
)
from tidegate.kinds.names import CHECKS_SINCE

AT = "2026-03-01T08:00:00Z"


class CheckedStory(Story):
    """A job whose reservation waits for a check."""

    async def reserve(self) -> int:
        return await self.write(replace(self.reserved(), checks=("budget",)))

    def state(self) -> tuple[str, str]:
        """Return the state of the check and its message."""
        states = ((self.shows() or {}).get("status") or {}).get("admissionChecks", ())
        return next(((state["state"], state["message"]) for state in states), ("", ""))

    def since(self) -> str:
        current_conditions = ((self.shows() or {}).get("status") or {}).get("conditions", ())
        return next(
            (
                str(condition["message"])
                for condition in current_conditions
                if condition["type"] == CHECKS_SINCE
            ),
            "",
        )

    def say(self, state: str, **more: object) -> None:
        """Write the check's state as its controller does."""
        fields: Object = {"name": "budget", "state": state, "message": "m", **more}
        body = {"status": {"admissionChecks": [{**fields, "lastTransitionTime": AT}]}}
        data = msgspec.json.encode(body)
        answer = self.embedded.call(
            "PATCH", f"{self.path}/status", body=data, content_type="application/merge-patch+json"
        )
        assert answer.status == 200, answer.body

    async def evict(self) -> int:
        at_us = AT_US + 2 * SECOND_US
        await self.write(
            WorkloadEvicted(
                at_us=at_us, workload=self.key, cluster_queue="cq", reason="AdmissionCheck"
            )
        )
        return await self.write(QuotaReleased(at_us=at_us, workload=self.key, reason="Evicted"))


@asynccontextmanager
async def reserved() -> AsyncGenerator[CheckedStory, None]:
    """Tell a story up to where its check is asked for and that is noted."""
    story = CheckedStory()
    async with alongside(story.actuator(projects=True).run()):
        await story.write(*QUEUES, story.submitted())
        seq = await story.reserve()
        await eventually(lambda: story.since() == f"{LEDGER}/{seq}")
        yield story


def test_a_reservation_asks_for_its_checks_and_notes_since_when() -> None:
    async def run() -> None:
        async with reserved() as story:
            assert story.state() == ("Pending", "")
            assert story.condition("QuotaReserved")[0] == "True"

    run_virtually(run())


def test_an_answer_right_behind_the_question_counts() -> None:
    async def run() -> None:
        story = CheckedStory()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, story.submitted())
            seq = await story.reserve()
            while story.state() != ("Pending", ""):
                await asyncio.sleep(0)
            assert story.since() == f"{LEDGER}/{seq}"
            story.say("Rejected")
            await story.write(*QUEUES)  # something else to show
            await asyncio.sleep(60)
            assert story.state() == ("Rejected", "m")

    run_virtually(run())


def test_what_a_controller_says_stays_while_the_reservation_does() -> None:
    async def run() -> None:
        async with reserved() as story:
            story.say("Ready")
            await story.write(story.admitted())
            await eventually(lambda: story.condition("Admitted")[0] == "True")
            assert story.state() == ("Ready", "m")

    run_virtually(run())


def test_an_eviction_resets_every_check_and_says_what_it_was() -> None:
    async def run() -> None:
        async with reserved() as story:
            story.say("Retry", requeueAfterSeconds=7)
            seq = await story.evict()
            await eventually(lambda: story.since() == f"{LEDGER}/{seq}")
            state, message = story.state()
            assert state == "Pending"
            assert message == "Reset to Pending after eviction. Previously: Retry. m"
            [value] = story.status(story.path)["admissionChecks"]
            assert (value["requeueAfterSeconds"], value["retryCount"]) == (7, 1)

    run_virtually(run())


def test_what_was_said_before_a_reservation_does_not_count_for_it() -> None:
    async def run() -> None:
        async with reserved() as story:
            await story.evict()
            await eventually(lambda: story.condition("QuotaReserved")[0] == "False")
            story.say("Ready")
            seq = await story.reserve()
            await eventually(lambda: story.since() == f"{LEDGER}/{seq}")
            assert story.state()[0] == "Pending"

    run_virtually(run())


def test_an_unknown_workload_is_made_when_its_reservation_is_published_again() -> None:
    async def run() -> None:
        story = CheckedStory()
        again = ReservationRepeated(
            at_us=AT_US,
            workload=story.key,
            uid=story.uid,
            cluster_queue="cq",
            job=story.submitted().job,
            queue="main",
            assignment=story.reserved().assignment,
            checks=("budget",),
        )
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES)
            seq = await story.write(again)
            await eventually(lambda: story.since() == f"{LEDGER}/{seq}")
            assert story.state()[0] == "Pending"
            assert story.condition("QuotaReserved")[0] == "True"

    run_virtually(run())


def test_an_event_that_did_not_come_is_looked_for() -> None:
    async def run() -> None:
        story = CheckedStory()
        fate: Fate = story.bus.fate
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES)
            await eventually(lambda: story.status(f"{KUEUE}/clusterqueues/cq") != {})
            fate.once("event_lost")
            await story.write(story.submitted())
            await story.reserve()
            await eventually(lambda: story.condition("QuotaReserved")[0] == "True")
        assert fate.struck["event_lost"] == 1

    run_virtually(run())


def test_a_workload_deactivated_by_hand_is_activated_by_hand() -> None:
    async def run() -> None:
        async with reserved() as story:
            left = WorkloadDeactivated(at_us=AT_US, workload=story.key, reason="Deactivated")
            await story.write(left)
            await eventually(lambda: story.condition("QuotaReserved")[1] == "Deactivated")
            assert story.read(story.path)["spec"]["active"]  # the user has to write false
            await story.write(replace(left, reason="MaximumExecutionTimeExceeded"))
            await eventually(lambda: not story.read(story.path)["spec"]["active"])

    run_virtually(run())
