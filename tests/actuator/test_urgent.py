"""Which writes others wait to see, and how those take turns with orders."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest
from msgspec import convert

from actuator.ordering.orders import TURNS, Order, OrderBook
from actuator.projection.workload_view import WorkloadView
from actuator.workqueue import is_urgent
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReleased,
    QuotaReserved,
    StartOrdered,
    WorkloadAdmitted,
    WorkloadEvicted,
)
from tidegate.contracts.facts import FactEvent, JobStateReported, WorkloadFinished
from tidegate.jobs.kind import Start
from tidegate.model.ids import ObjectRef

KEY, UID = "ns/w", "u"
JOB = WorkloadView(
    key=KEY, uid=UID, job=ObjectRef(kind="batch/job", namespace="ns", name="w", uid=UID)
)
DIRECT = WorkloadView(
    key=KEY, uid=UID, job=ObjectRef(kind="workload", namespace="ns", name="w", uid=UID)
)
ENDED = WorkloadFinished(at_us=1, workload=KEY, uid=UID)


OF_JOB = {"at_us": 1, "workload": KEY, "uid": UID, "cluster_queue": "q"}


@pytest.mark.parametrize(
    ("event", "view", "urgent"),
    [
        (ENDED, JOB, True),
        (ENDED, DIRECT, False),
        (ENDED, None, False),
        (convert(OF_JOB | {"assignment": []}, QuotaReserved), JOB, True),
        (convert(OF_JOB | {"reason": "Preempted"}, WorkloadEvicted), DIRECT, True),
        (convert(OF_JOB, QuotaReleased), None, True),
        (convert(OF_JOB, WorkloadAdmitted), JOB, False),
        (convert(OF_JOB | {"state": {}}, JobStateReported), JOB, False),
    ],
)
def test_what_others_wait_to_see_is_urgent(
    event: FactEvent | DecisionEvent, view: WorkloadView | None, *, urgent: bool
) -> None:
    assert is_urgent(event, view) is urgent


def _order(number: int) -> Order:
    job = ObjectRef(kind="batch/job", namespace="ns", name=f"w{number}", uid=f"u{number}")
    ordered = StartOrdered(
        at_us=1, workload=f"ns/w{number}", uid=job.uid, job=job, cluster_queue="q"
    )
    return Start(order=ordered, ledger_id="led", seq=number)


async def _passes(waiting: Awaitable[None] | None, passed: list[int], number: int) -> None:
    assert waiting is not None
    await waiting
    passed.append(number)


def test_urgent_writes_pass_with_each_order_that_ends_and_calm_ones_after_all() -> None:
    async def live() -> None:
        book, urgent, calm = OrderBook(), list[int](), list[int]()
        assert book.wait_for_turn() is None
        for number in (1, 2):
            book.put(_order(number))
        async with asyncio.TaskGroup() as tasks:
            for number in range(2 * TURNS + 1):
                tasks.create_task(_passes(book.wait_for_turn(), urgent, number))
                tasks.create_task(_passes(book.wait_until_idle(), calm, number))
            await asyncio.sleep(1)
            assert (urgent, calm) == ([], [])
            book.finish(await book.next_order())
            await asyncio.sleep(1)
            assert (urgent, calm) == ([*range(TURNS)], [])
            book.finish(await book.next_order())
        everybody = [*range(2 * TURNS + 1)]
        assert (urgent, calm) == (everybody, everybody)

    run_virtually(live())
