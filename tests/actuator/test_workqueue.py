"""What is shown first when much is to be shown."""

from __future__ import annotations

import asyncio

from actuator.workqueue import QUEUES_EVERY_S, Due, Place, Workqueue
from tests.parts.virtual import run_virtually


def workload(number: int) -> Place:
    return ("Workload", f"default/w{number}")


def calm(agenda: Workqueue) -> list[Place]:
    """Return what is taken from the calm lanes, one after another."""
    taken: list[Place] = []
    while (due := agenda.pop_normal()) is not None:
        taken.append(due.place)
    return taken


def test_queues_and_workloads_take_turns() -> None:
    agenda = Workqueue()
    queue: Place = ("ClusterQueue", "cq")
    for place in (workload(1), workload(2), queue):
        agenda.add(place)
    assert set(calm(agenda)[:2]) == {workload(1), queue}


def test_a_workload_that_becomes_urgent_leaves_the_calm_lane() -> None:
    agenda = Workqueue()
    agenda.add(workload(1))
    agenda.add(workload(2))
    agenda.add(workload(2), now=True)
    assert agenda.pop_urgent() == Due(workload(2), urgent=True, tries=0)
    assert calm(agenda) == [workload(1)]


def test_a_calm_change_waits_behind_the_urgent_one_of_the_same_workload() -> None:
    agenda = Workqueue()
    agenda.add(workload(1), now=True)
    agenda.add(workload(1))
    assert len(agenda) == 1
    assert calm(agenda) == []


def test_what_changes_while_it_is_written_is_written_again_afterwards() -> None:
    agenda = Workqueue()
    agenda.add(workload(1), now=True)
    assert agenda.pop_urgent() is not None
    agenda.add(workload(1), now=True)
    assert agenda.pop_urgent() is None
    agenda.finish(workload(1))
    assert agenda.pop_urgent() == Due(workload(1), urgent=True, tries=0)


def test_how_often_it_was_tried_stays_with_a_place() -> None:
    agenda = Workqueue()
    agenda.add(workload(1), tries=3)
    agenda.add(workload(1))
    assert agenda.pop_normal() == Due(workload(1), urgent=False, tries=3)


def test_a_queue_that_was_written_waits_a_second_and_a_workload_does_not() -> None:
    async def run() -> tuple[list[Place], list[Place]]:
        agenda = Workqueue()
        written: tuple[Place, ...] = (("LocalQueue", "default/lq"), workload(1))
        for place in written:
            agenda.add(place)
        calm(agenda)
        for place in written:
            agenda.finish_written(place)
            agenda.add(place)
        at_once = calm(agenda)
        await asyncio.sleep(QUEUES_EVERY_S)
        return at_once, calm(agenda)

    assert run_virtually(run()) == ([workload(1)], [("LocalQueue", "default/lq")])
