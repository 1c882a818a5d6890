"""Of victims that Kueue's order holds equal, the one that loses the least run time leaves first."""

from __future__ import annotations

import pytest

from bench.virtual.driving import Cluster
from bench.virtual.loads import NAMESPACE
from tests.core.test_cycle_rules import arrive, cohort, running
from tidegate.contracts import facts
from tidegate.contracts.decisions import WorkloadPreempted
from tidegate.contracts.observations import JobState
from tidegate.core.decide import decide
from tidegate.core.preemption.candidates import lost_run_time_us

SECOND_US = 1_000_000
LATER_US = 600 * SECOND_US


def two_run() -> Cluster:
    """Return a cluster in which two equal jobs run for ten minutes, the second a second less."""
    cluster = cohort(queues=1)
    for name in ("older", "newer"):
        arrive(cluster, name, 0, 10)
        assert cluster.decide(100)
    cluster.now_us += LATER_US
    return cluster


def checkpoint(cluster: Cluster, name: str, at_us: int) -> None:
    """Let a job say that it saved its work."""
    event = facts.JobStateReported(
        at_us=cluster.now_us,
        workload=f"{NAMESPACE}/{name}",
        uid=name,
        version=1,
        state=JobState(suspended=False, started=True, active=1, checkpoint_us=at_us),
    )
    cluster.fold([event])


def preempted(cluster: Cluster) -> WorkloadPreempted:
    """Submit what one of them has to leave for; return the event that names it."""
    arrive(cluster, "urgent", 0, 10, priority=9)
    decisions = decide(cluster.state)
    [event] = [decision for decision in decisions if isinstance(decision, WorkloadPreempted)]
    return event


def test_the_shorter_run_leaves_first() -> None:
    event = preempted(two_run())
    assert event.workload == f"{NAMESPACE}/newer"
    assert event.lost_us == LATER_US + SECOND_US


def test_a_saved_run_leaves_first_and_the_event_says_what_it_loses() -> None:
    cluster = two_run()
    checkpoint(cluster, "older", cluster.now_us - 120 * SECOND_US)
    event = preempted(cluster)
    assert event.workload == f"{NAMESPACE}/older"
    assert event.lost_us == 121 * SECOND_US


@pytest.mark.parametrize("ahead_us", [0, 10**6, 10**15])
def test_a_checkpoint_is_never_in_the_future(ahead_us: int) -> None:
    cluster = two_run()
    checkpoint(cluster, "older", cluster.now_us + ahead_us)
    workload = cluster.state.workloads[f"{NAMESPACE}/older"]
    assert lost_run_time_us(cluster.state, workload) == 0
    cluster.now_us += LATER_US
    cluster.fold([facts.TimePassed(at_us=cluster.now_us)])
    assert lost_run_time_us(cluster.state, workload) == LATER_US


@pytest.mark.parametrize("at_us", [-(10**15), 0, 1])
def test_a_checkpoint_is_never_older_than_the_start_nor_than_another(at_us: int) -> None:
    cluster = two_run()
    checkpoint(cluster, "older", at_us)
    workload = cluster.state.workloads[f"{NAMESPACE}/older"]
    assert lost_run_time_us(cluster.state, workload) == cluster.now_us - workload.admitted_us
    checkpoint(cluster, "older", cluster.now_us)
    checkpoint(cluster, "older", at_us)
    assert lost_run_time_us(cluster.state, workload) == 0


def test_a_saved_run_does_not_leave_before_a_lower_priority() -> None:
    cluster = cohort(queues=1)
    for name, priority in (("low", 0), ("high", 5)):
        arrive(cluster, name, 0, 10, priority=priority)
        assert cluster.decide(100)
    cluster.now_us += LATER_US
    checkpoint(cluster, "high", cluster.now_us)
    assert preempted(cluster).workload == f"{NAMESPACE}/low"
    assert running(cluster) == {"low", "high"}
