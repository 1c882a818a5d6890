"""Writes that nobody waits for: how many pass while orders are carried out, and when one rests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from actuator.ordering.orders import CALM_TURNS, OrderBook
from actuator.pace import QUICK_S, REST_S_MAX, RESTS, Pace
from tests.actuator.scene import LEDGER, start
from tests.parts.virtual import run_virtually
from tidegate.jobs.kind import Start

WRITES = CALM_TURNS + 1


def passing(wait: Awaitable[None] | None) -> asyncio.Future[None]:
    """Return a write that waits while jobs are to be moved."""
    assert wait is not None, "an order stands"
    return asyncio.ensure_future(wait)


@pytest.mark.parametrize(("quick", "passed"), [(True, CALM_TURNS), (False, 0)])
async def test_an_order_that_was_carried_out_quickly_lets_some_writes_pass(
    *, quick: bool, passed: int
) -> None:
    book = OrderBook()
    for seq in (1, 2):
        found = {"metadata": {"namespace": "default", "name": f"j{seq}", "uid": f"uid-{seq}"}}
        book.offer(Start(order=start(found), ledger_id=LEDGER, seq=seq))
    order = await book.take()
    writes = [passing(book.quiet()) for _ in range(WRITES)]
    last = passing(book.quiet(last=True))
    await asyncio.sleep(0)
    book.finish(order, quick=quick)
    for _ in range(3):  # a woken write ends in its own turn of the loop
        await asyncio.sleep(0)
    assert (sum(write.done() for write in writes), last.done()) == (passed, False)
    book.finish(await book.take())
    await asyncio.gather(*writes, last)
    assert book.quiet() is None


@pytest.mark.parametrize(
    ("took_s", "rest_s"),
    [(0.0, 0.0), (QUICK_S, 0.0), (QUICK_S + 0.1, RESTS * 0.1), (60.0, REST_S_MAX)],
)
def test_one_rests_for_a_slow_server_alone(took_s: float, rest_s: float) -> None:
    async def rested() -> float:
        loop = asyncio.get_running_loop()
        since_s = loop.time()
        await Pace(0.0).rest(took_s)
        return loop.time() - since_s

    assert run_virtually(rested()) == pytest.approx(rest_s)
