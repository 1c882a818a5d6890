"""Positions follow the scheduler's order, in the report and by the folded state.

An older workload loses its quota and waits again beside a younger one. Which is first depends on
why, and on the configuration, which may change while both wait.
"""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from tests.parts.reports import rows
from tests.store.histories import sealed
from tests.store.story import STORY, admitted, minute, submitted
from tests.store.test_reports import written
from tidegate.contracts import decisions, facts
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.queueing.heads import queue_rank
from tidegate.core.state.state import State
from tidegate.model.policy import PodsReady, Policy
from tidegate.serve.ledger.queueing import pending_rows

OLDER, YOUNGER = "a/job-older", "a/job-younger"
BY_EVICTION = Policy()
BY_CREATION = Policy(pods_ready=PodsReady(requeuing_timestamp="Creation"))
UNSORTED = Policy(gates={"PrioritySortingWithinCohort": False})


def configured(at: float, policy: Policy) -> facts.PolicyConfigured:
    return facts.PolicyConfigured(at_us=minute(at), name="tidegate", policy=policy)


def history(reason: str, *policies: Policy) -> list[list[Entry]]:
    """Return how the older workload runs and has to wait again, and what is configured then."""
    us = minute(3)
    left: list[decisions.DecisionEvent] = [
        decisions.WorkloadEvicted(at_us=us, workload=OLDER, reason=reason),
        decisions.QuotaReleased(at_us=us, workload=OLDER, reason="Evicted"),
        decisions.WorkloadRequeued(at_us=us, workload=OLDER),
    ]
    if reason == "Preempted":
        preempted = decisions.WorkloadPreempted(
            at_us=us,
            workload=OLDER,
            by="b/job-other",
            reason="InCohortReclaimWhileBorrowing",
        )
        left.insert(0, preempted)
    return sealed(
        STORY[0],
        [submitted(1, OLDER, 1)],
        admitted(1, OLDER, "team-a", 1),
        [submitted(2, YOUNGER, 1)],
        left,
        *([configured(4 + at, policy)] for at, policy in enumerate(policies)),
    )


def folded(turns: list[list[Entry]]) -> State:
    state = State()
    for turn in turns:
        for entry in turn:
            apply_recorded(state, decode(entry.payload))
    return state


@pytest.mark.parametrize(
    ("reason", "policies", "first"),
    [
        ("PodsReadyTimeout", (), YOUNGER),
        ("PodsReadyTimeout", (BY_CREATION,), OLDER),
        ("PodsReadyTimeout", (BY_CREATION, BY_EVICTION), YOUNGER),
        ("AdmissionCheck", (BY_CREATION,), YOUNGER),
        ("ClusterQueueStopped", (), OLDER),
        ("Preempted", (), OLDER),
        ("Preempted", (UNSORTED,), YOUNGER),
    ],
)
def test_positions_are_the_schedulers(
    engine: Engine, reason: str, policies: tuple[Policy, ...], first: str
) -> None:
    turns = history(reason, *policies)
    written(engine, turns)
    state = folded(turns)
    scheduled = min(state.workloads.values(), key=lambda each: queue_rank(state.policy, each))
    assert scheduled.key == first
    report = {row["priority_rank"]: row["workload"] for row in rows(engine, "queue_now")}
    by_state = {row["position"]: row["workload"] for row in pending_rows(state, lambda _: 0)}
    assert report == by_state
    assert report[1] == first


def test_a_workload_in_back_off_keeps_its_place(engine: Engine) -> None:
    before = [[decode(entry.payload) for entry in turn] for turn in history("PodsReadyTimeout")]
    backs_off = decisions.WorkloadRequeued(at_us=minute(4), workload=OLDER, after_us=minute(9))
    turns = sealed(*before, [backs_off])
    written(engine, turns)
    state = folded(turns)
    report = {row["priority_rank"]: row["workload"] for row in rows(engine, "queue_now")}
    by_state = {row["position"]: row["workload"] for row in pending_rows(state, lambda _: 0)}
    assert report == by_state == {1: YOUNGER, 2: OLDER}


def test_a_reservation_ends_what_an_eviction_meant(engine: Engine) -> None:
    before = [[decode(entry.payload) for entry in turn] for turn in history("AdmissionCheck")]
    stopped = decisions.WorkloadEvicted(at_us=minute(6), workload=OLDER, reason="Stopped")
    released = decisions.QuotaReleased(at_us=minute(6), workload=OLDER)
    written(engine, sealed(*before, admitted(5, OLDER, "team-a", 1), [stopped, released]))
    report = {row["priority_rank"]: row["workload"] for row in rows(engine, "queue_now")}
    assert report == {1: OLDER, 2: YOUNGER}
