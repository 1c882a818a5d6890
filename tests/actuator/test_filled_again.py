"""EVENTS that was lost and filled again from the ledger: nothing is missed, nothing done twice."""

from __future__ import annotations

import asyncio

from tests.actuator.scene import LEDGER, start, stop
from tests.actuator.story import AT_US, QUEUES, Story
from tests.parts.history import History
from tests.parts.interposed import Interposed
from tests.parts.stage import alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import WorkloadDeactivated, WorkloadPending
from tidegate.contracts.facts import Event, LedgerOpened
from tidegate.kube.ports import Response

LONG_S = 60.0


def is_suspended(story: Story) -> bool:
    return bool(story.job()["spec"]["suspend"])


async def lost(story: Story, event: Event) -> History:
    """Tell of the job, and of this event of its, and lose EVENTS; return what can tell it again."""
    history = History(story.bus)
    await history.write(*QUEUES, story.submitted(), event)
    story.bus.events.recreate()
    return history


def test_what_was_never_shown_is_shown_once_events_are_filled_again() -> None:
    async def run() -> None:
        story = Story()
        gone = WorkloadDeactivated(at_us=AT_US, workload=story.key, reason="FailedToStart")
        history = await lost(story, gone)
        async with alongside(story.actuator(projects=True).run()):
            await asyncio.sleep(LONG_S)
            assert story.shows() is None
            await history.fill_again()
            await eventually(lambda: story.condition("QuotaReserved")[1] == "Deactivated")
        assert story.read(story.path)["spec"]["active"] is False

    run_virtually(run())


def test_refilled_events_are_history_to_a_reader_that_began_before() -> None:
    async def run() -> None:
        story = Story()
        held = WorkloadPending(at_us=AT_US, workload=story.key, reason="WaitingForQuota")
        history = await lost(story, held)
        async with alongside(story.actuator(projects=True).run()):
            await asyncio.sleep(LONG_S)
            await history.fill_again()
            await eventually(lambda: story.condition("QuotaReserved")[1] == "WaitingForQuota")
            assert story.events() == []
            await history.write(held)
            await eventually(lambda: story.events() == [("Workload", "WaitingForQuota")])

    run_virtually(run())


def test_what_is_filled_again_while_it_is_compared_is_compared_too() -> None:
    async def run() -> None:
        story = Story()
        slow, held = Interposed(story.embedded), asyncio.Event()
        asked = asyncio.Event()

        async def hold(method: str, path: str) -> Response | None:
            if method == "GET" and path.endswith("/localqueues"):
                asked.set()
                await held.wait()
            return None

        slow.before = hold
        async with alongside(story.actuator(api=slow, projects=True).run()):
            await asked.wait()
            await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
            await asyncio.sleep(1)
            held.set()
            await eventually(lambda: story.condition("Admitted")[0] == "True")

    run_virtually(run())


def test_a_follower_takes_nothing_twice_and_misses_nothing() -> None:
    async def run() -> None:
        story = Story()
        history = History(story.bus)
        async with alongside(story.actuator().run()):
            await history.write(start(story.made))
            await eventually(lambda: not is_suspended(story))
            patches = story.patches()
            story.bus.events.recreate()
            await history.fill_again()
            await asyncio.sleep(LONG_S)
            assert story.patches() == patches
            await history.write(stop(story.made))
            await eventually(lambda: is_suspended(story))

    run_virtually(run())


def test_orders_of_a_ledgers_former_name_are_not_carried_out() -> None:
    async def run() -> None:
        story = Story()
        former = History(story.bus, "former")
        await former.write(*QUEUES, story.submitted(), start(story.made))
        kept = len(QUEUES)  # the rest was lost, and the ledger goes on under another name
        ahead = story.bus.events.last_seq - kept
        history = History(story.bus, seq=kept, ahead=ahead)
        opened = LedgerOpened(at_us=AT_US, ledger_id=LEDGER)
        seq = await history.write(opened, story.submitted())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.shows() is not None)
            await asyncio.sleep(LONG_S)
        assert is_suspended(story)
        shown = story.read(story.path)["metadata"]["annotations"]["tidegate.dev/decision"]
        assert shown == f"{LEDGER}/{seq}"

    run_virtually(run())
