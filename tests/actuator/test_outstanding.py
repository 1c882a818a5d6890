"""What a successor finds undone: of each job one order, the newest."""

from __future__ import annotations

from actuator.ordering.orders import OutstandingOrders
from tidegate.contracts.decisions import DecisionEvent, QuotaReleased, StartOrdered
from tidegate.contracts.entry import Published
from tidegate.contracts.facts import FactEvent, JobStateReported
from tidegate.contracts.observations import JobState
from tidegate.model.ids import ObjectRef

LEDGER = "one"
JOB = ObjectRef(kind="batch/job", namespace="team", name="train", uid="u")


def learnt(*events: FactEvent | DecisionEvent) -> list[int]:
    """Return the numbers of the orders that are outstanding after these entries."""
    outstanding = OutstandingOrders()
    for seq, event in enumerate(events, 1):
        outstanding.apply_event(message(seq), event)
    return [order.seq for order in outstanding]


def message(seq: int) -> Published:
    return Published(ledger_id=LEDGER, seq=seq, subject="", payload=b"")


def start(workload: str, job: ObjectRef = JOB) -> StartOrdered:
    return StartOrdered(at_us=1, workload=workload, uid=job.uid, cluster_queue="q", job=job)


def shown(workload: str, seq: int) -> JobStateReported:
    state = JobState(suspended=False, decision=f"{LEDGER}/{seq}")
    return JobStateReported(at_us=1, workload=workload, uid="u", version=2, state=state)


def test_the_start_of_a_slice_that_was_replaced_is_not_carried_out() -> None:
    released = QuotaReleased(
        at_us=1, workload="a", uid="u", cluster_queue="q", reason="WorkloadSliceReplaced"
    )
    assert learnt(start("a"), released, start("a-2")) == [3]
    assert learnt(start("a"), released, start("a-2"), shown("a-2", 3)) == []


def test_orders_for_other_jobs_stay() -> None:
    other = ObjectRef(kind="batch/job", namespace="team", name="other", uid="o")
    assert learnt(start("a"), start("b", other), start("a")) == [2, 3]
    assert learnt(start("a"), start("b", other), shown("a", 1)) == [2]
