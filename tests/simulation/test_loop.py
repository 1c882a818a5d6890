"""The seeded loop: time jumps, and the order of everything is that of its making."""

from __future__ import annotations

import asyncio

import pytest

from tests.simulation.loop import run_seeded


def test_time_is_what_was_waited_for_and_nothing_else() -> None:
    async def story() -> float:
        await asyncio.sleep(3_600)
        return asyncio.get_running_loop().time()

    assert run_seeded(story()) == pytest.approx(3_600)


def test_tasks_are_cancelled_in_the_order_they_were_made() -> None:
    ended = list[int]()

    async def wait(number: int) -> None:
        try:
            await asyncio.sleep(1)
        finally:
            ended.append(number)

    async def story() -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in range(50):
                tasks.create_task(wait(number))
            await asyncio.sleep(0)
            raise ValueError

    with pytest.raises(ExceptionGroup):
        run_seeded(story())
    assert ended == list(range(50))


def test_a_world_in_which_everybody_waits_for_ever_is_an_error() -> None:
    with pytest.raises(AssertionError, match="every task waits"):
        run_seeded(asyncio.Event().wait())


def test_threads_are_refused() -> None:
    with pytest.raises(AssertionError, match="no place"):
        run_seeded(asyncio.to_thread(int))
