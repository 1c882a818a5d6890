"""What is looked at next, and how much of that one worker cluster may take."""

from __future__ import annotations

import asyncio

from dispatcher.workqueue import PACE_S, PACE_S_MAX, WIDTH, Place, WorkQueue
from tests.parts.cost import count_lines
from tests.parts.growth import entries
from tests.parts.virtual import run_virtually


async def _all(queue: WorkQueue) -> list[Place]:
    """Take whatever may be looked at by now."""
    taken = list[Place]()
    while True:
        try:
            async with asyncio.timeout(0.01):
                taken.append((await queue.get())[0])
        except TimeoutError:
            return taken


def test_one_cluster_takes_no_more_than_its_share() -> None:
    async def live() -> None:
        queue = WorkQueue()
        for number in range(100):
            queue.add(("slow", f"default/{number}"))
        queue.add(("quick", "default/0"))
        taken = await _all(queue)
        assert [cluster for cluster, _ in taken] == ["slow"] * WIDTH + ["quick"]
        queue.finish(taken[0])
        assert await _all(queue) == [("slow", f"default/{WIDTH}")]

    run_virtually(live())


def test_what_changes_without_end_is_looked_at_at_its_pace() -> None:
    async def live() -> None:
        queue, place, looks = WorkQueue(), ("noisy", "default/a"), 0
        until_s = asyncio.get_running_loop().time() + 10.0

        async def change() -> None:
            while True:
                queue.add(place)
                await asyncio.sleep(0.001)

        changing = asyncio.create_task(change())
        while asyncio.get_running_loop().time() < until_s:
            queue.finish((await queue.get())[0])
            looks += 1
        changing.cancel()
        assert 5 <= looks <= 8  # after 0.2, 0.6, 1.4, 3.0, 6.2 and 11.2 seconds

    run_virtually(live())


def test_what_rested_without_a_change_is_looked_at_at_the_first_pace_again() -> None:
    async def live() -> None:
        queue, place, now_s = WorkQueue(), ("a", "default/a"), asyncio.get_running_loop().time
        rests = list[float]()
        for _ in range(2):
            queue.add(place)
            for _ in range(3):
                since_s = now_s()
                await queue.get()
                rests.append(round((now_s() - since_s) / PACE_S))
                queue.add(place)
                queue.finish(place)
            await queue.get()
            queue.finish(place)
            await asyncio.sleep(PACE_S_MAX)
        assert rests == [0, 1, 2, 0, 1, 2]

    run_virtually(live())


def test_what_waits_is_looked_at_once_however_often_it_was_put_off() -> None:
    async def live() -> None:
        queue, place = WorkQueue(), ("a", "default/a")
        for _ in range(50):
            queue.add_after(place, 2.0)
            queue.add_after(place, 5.0)
        await asyncio.sleep(10.0)
        assert await _all(queue) == [place]
        queue.finish(place)
        await asyncio.sleep(10.0)
        assert await _all(queue) == []

    run_virtually(live())


def test_an_earlier_time_counts_and_a_new_reason_is_no_try() -> None:
    async def live() -> None:
        queue, place = WorkQueue(), ("a", "default/a")
        queue.add_after(place, 60.0, 5)
        queue.add_after(place, 1.0, 6)
        await asyncio.sleep(1.5)
        assert await queue.get() == (place, 6)
        queue.finish(place)
        queue.add(place, 7)
        queue.add(place)
        assert await queue.get() == (place, 0)

    run_virtually(live())


def test_a_workload_costs_as_much_beside_many_that_rest() -> None:
    async def lines_beside(others: int) -> int:
        queue = WorkQueue()
        for number in range(others):
            place = ("noisy", f"default/{number}")
            queue.add(place)
            await queue.get()
            queue.finish(place)
            queue.add(place)  # it changed again, and rests
        with count_lines("dispatcher") as lines:
            queue.add(("noisy", "default/new"))
            assert await queue.get() == (("noisy", "default/new"), 0)
        return lines.total()

    few, many = (run_virtually(lines_beside(others)) for others in (40, 400))
    assert few == many


def test_nothing_of_a_cluster_stays_once_it_is_looked_at() -> None:
    async def live() -> None:
        queue = WorkQueue()
        for number in range(30):
            place = (f"cluster-{number}", "default/a")
            queue.add(place)
            await queue.get()
            queue.add(place)
            queue.finish(place)
            await queue.get()
            queue.finish(place)
        await asyncio.sleep(PACE_S_MAX)
        own = {at: n for at, n in entries(queue).items() if at.startswith("WorkQueue.")}
        assert sum(own.values()) == 0, own

    run_virtually(live())
