"""Tasks that wait for a turn: a task that gives up blocks no other."""

from __future__ import annotations

import asyncio

from actuator.workqueue import Waiters


async def test_a_task_that_gives_up_leaves_nothing_behind_and_takes_no_turn() -> None:
    waiters = Waiters()
    gone, stays = (asyncio.create_task(waiters.wait()) for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.wait([gone])
    assert len(waiters) == 1
    waiters.wake()
    await stays
    assert len(waiters) == 0
