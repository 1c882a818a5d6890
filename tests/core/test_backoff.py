"""When a backoff is over: with its event."""

from __future__ import annotations

from typing import Any

from bench.virtual.loads import Arrival, beginning, queue, submitted
from tidegate.contracts import decisions, facts
from tidegate.contracts.codec import type_name
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.state.state import State

SECOND = 1_000_000
JOB = submitted(Arrival(at_us=0, name="train", queue=0, cpu=2, priority=0, run_us=SECOND))
ABOUT: dict[str, Any] = {"workload": JOB.workload, "uid": JOB.uid}


def backing_off() -> State:
    """Return a state in which the one workload may not be tried before second 5."""
    state = State()
    for fact in (*beginning("tidegate", fair=False), *queue(0, cohort=""), JOB):
        apply(state, fact)
    decide(state)
    for event in (
        decisions.WorkloadEvicted(at_us=SECOND, reason="PodsReadyTimeout", **ABOUT),
        decisions.StopOrdered(at_us=SECOND, job=JOB.job, reason="PodsReadyTimeout", **ABOUT),
        facts.WorkloadStopped(at_us=SECOND, **ABOUT),
        decisions.QuotaReleased(at_us=SECOND, reason="Evicted", **ABOUT),
        decisions.WorkloadRequeued(
            at_us=SECOND, reason="PodsReadyTimeout", after_us=5 * SECOND, attempts=1, **ABOUT
        ),
    ):
        apply(state, event)
    return state


def changed() -> facts.WorkloadChanged:
    """Return a fact that moves the time past the backoff, without being a heartbeat."""
    return facts.WorkloadChanged(
        at_us=6 * SECOND, queue=JOB.queue, priority=1, podsets=JOB.podsets, **ABOUT
    )


def test_a_backoff_ends_by_its_event_whichever_check_was_asked_before() -> None:
    state = backing_off()
    apply(state, changed())
    begun = decode(encode(state))  # as a scheduler that begins here
    for candidate_state in (state, begun):
        assert decide(candidate_state) == []
        apply(candidate_state, facts.TimePassed(at_us=7 * SECOND))
        assert [type_name(decision) for decision in decide(candidate_state)][:2] == [
            "WorkloadRequeued",
            "QuotaReserved",
        ]
