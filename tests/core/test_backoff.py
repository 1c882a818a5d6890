"""A backoff that ended without a heartbeat is over for good once its workload holds quota."""

from __future__ import annotations

from typing import Any

from bench.loads import Arrival, beginning, queue, submitted
from tidegate.contracts import decisions, facts
from tidegate.core.draft import Draft
from tidegate.core.fold import apply
from tidegate.core.rules import decide

SECOND = 1_000_000
JOB = submitted(Arrival(at_us=0, name="train", queue=0, cpu=2, priority=0, run_us=SECOND))
ABOUT: dict[str, Any] = {"workload": JOB.workload, "uid": JOB.uid}


def backing_off() -> Draft:
    """Return a draft in which the one workload may not be tried before second 5."""
    draft = Draft()
    for fact in (*beginning("tidegate", fair=False), *queue(0, cohort=""), JOB):
        apply(draft, fact)
    decide(draft)
    for told in (
        decisions.WorkloadEvicted(at_us=SECOND, reason="PodsReadyTimeout", **ABOUT),
        decisions.StopOrdered(at_us=SECOND, job=JOB.job, reason="PodsReadyTimeout", **ABOUT),
        facts.WorkloadStopped(at_us=SECOND, **ABOUT),
        decisions.QuotaReleased(at_us=SECOND, reason="Evicted", **ABOUT),
        decisions.WorkloadRequeued(
            at_us=SECOND, reason="PodsReadyTimeout", after_us=5 * SECOND, attempts=1, **ABOUT
        ),
    ):
        apply(draft, told)
    return draft


def test_a_reservation_after_the_backoff_is_not_taken_back_by_its_deadline() -> None:
    draft = backing_off()
    assert decide(draft) == []
    # Another fact moves the time first: the deadline itself fires with a heartbeat alone.
    apply(
        draft,
        facts.WorkloadChanged(
            at_us=6 * SECOND, queue=JOB.queue, priority=1, podsets=JOB.podsets, **ABOUT
        ),
    )
    assert any(isinstance(one, decisions.QuotaReserved) for one in decide(draft))
    apply(draft, facts.TimePassed(at_us=7 * SECOND))
    assert decide(draft) == []
    assert draft.workloads[JOB.workload].phase == "admitted"
