"""The ledger of a shadow, which no actuator obeys, beside what Kueue did."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.decisions import WorkloadAdmitted, WorkloadEvicted, WorkloadPending
from tidegate.contracts.facts import (
    Event,
    JobStateReported,
    LedgerOpened,
    WorkloadAdopted,
    WorkloadFinished,
    WorkloadSubmitted,
)
from tidegate.contracts.observations import JobState
from tidegate.model.ids import ObjectRef
from tidegate.replay.shadow import Comparison, compare

SECOND = 1_000_000
JOB = ObjectRef(kind="batch/job", namespace="team", name="one", uid="u")
WHO: dict[str, Any] = {"workload": "team/one", "uid": "u"}
SUBMITTED = WorkloadSubmitted(at_us=SECOND, job=JOB, **WHO)
RUNS = JobState(suspended=False, active=1)


def admitted(second: int) -> Event:
    return WorkloadAdmitted(at_us=second * SECOND, cluster_queue="a", **WHO)


def held(second: int) -> Event:
    return WorkloadPending(at_us=second * SECOND, reason="WaitingForQuota", **WHO)


def evicted(second: int) -> Event:
    return WorkloadEvicted(at_us=second * SECOND, reason="Preempted", **WHO)


def seen(second: int, state: JobState = RUNS) -> Event:
    return JobStateReported(at_us=second * SECOND, state=state, **WHO)


def compared(*events: Event) -> Comparison:
    opened = LedgerOpened(at_us=0, ledger_id="led")
    return compare(seal(GENESIS, 1, "local", [opened, *events]), 10 * SECOND)


@pytest.mark.parametrize(
    ("events", "what"),
    [
        pytest.param((admitted(5), seen(9)), [], id="alike"),
        pytest.param((), [], id="neither starts it"),
        pytest.param((admitted(5),), ["starts only here"], id="the other does not start it"),
        pytest.param((held(2), seen(3)), ["starts only there"], id="no quota here"),
        pytest.param((admitted(5), seen(40)), ["starts earlier"], id="earlier"),
        pytest.param((seen(5), admitted(40)), ["starts later"], id="later"),
        pytest.param((admitted(5), seen(6), evicted(7)), ["stops only here"], id="evicted here"),
        pytest.param(
            (admitted(5), seen(6), seen(9, JobState())), ["stops only there"], id="stopped there"
        ),
        pytest.param((admitted(5), seen(6), evicted(7), seen(9, JobState())), [], id="both stop"),
    ],
)
def test_a_difference_is_named(events: tuple[Event, ...], what: list[str]) -> None:
    result = compared(SUBMITTED, *events)
    assert [difference.difference for difference in result.differences] == what
    assert (result.workloads, result.alike) == (1, int(not what))


def test_a_workload_held_here_is_shown_with_the_reason_of_then() -> None:
    (difference,) = compared(SUBMITTED, held(2), seen(3), held(4)).differences
    assert (difference.here_us, difference.there_us) == (0, 3 * SECOND)
    assert difference.why == "Waits: WaitingForQuota."


def test_a_job_that_was_not_seen_to_run_ran_when_it_finished() -> None:
    finished = WorkloadFinished(at_us=7 * SECOND, **WHO)
    (difference,) = compared(SUBMITTED, finished).differences
    assert (difference.difference, difference.there_us) == ("starts only there", 7 * SECOND)


def test_what_ran_before_or_was_started_by_the_ledgers_own_order_is_not_compared() -> None:
    running = replace(SUBMITTED, state=RUNS)
    before = compared(running, WorkloadAdopted(at_us=2, cluster_queue="a", assignment=(), **WHO))
    own = compared(SUBMITTED, admitted(5), seen(50, replace(RUNS, decision="led/7")))
    assert (before.adopted, own.carried_out) == (1, 1)
    assert before.differences == own.differences == ()
