"""A ledger goes on without its newest entries: workloads that these had stopped start again."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.core.queues import of_cpu
from tests.core.telling import (
    JOBS,
    LEDGER,
    RUNNING,
    SECOND,
    Bus,
    Fields,
    beat,
    completed,
    flavor,
    job,
    started,
)
from tidegate.contracts import observations
from tidegate.contracts.decisions import (
    DecisionEvent,
    StartOrdered,
    StopOrdered,
    WorkloadEvicted,
    WorkloadRequeued,
)
from tidegate.core.decide import VERSION, decide
from tidegate.core.reconcile.reissue_orders import LEDGER_RECOVERED
from tidegate.model.policy import Policy
from tidegate.model.quota import LocalQueueSpec, Quota

STOPPED = observations.JobState(decision="lost/9")
PRIORITIES = {"a": 0, "b": 1}


def definitions() -> list[observations.Observation]:
    """Return a queue with quota for two jobs."""
    fields: Fields = {"uid": "x", "version": 1, "session": "a"}
    spec = of_cpu({"one": Quota(nominal=4_000)})
    local = LocalQueueSpec(cluster_queue="cq")
    return [
        observations.PolicyObserved(name="tidegate", policy=Policy(rules=VERSION), **fields),
        observations.NamespaceObserved(name="team", **fields),
        flavor("one"),
        observations.ClusterQueueObserved(name="cq", spec=spec, **fields),
        observations.LocalQueueObserved(namespace="team", name="main", spec=local, **fields),
    ]


def one(name: str, version: int, state: observations.JobState) -> observations.JobObserved:
    workload, priority = f"team/{name}", PRIORITIES.get(name, 9)
    return job(name, workload=workload, priority=priority, version=version, state=state)


def recovered(states: Mapping[str, observations.JobState]) -> Bus:
    """Return a ledger that admitted "a" and "b", was recovered, and sees jobs in these states."""
    bus, waiting = Bus().opened(), [one(name, 10, observations.JobState()) for name in PRIORITIES]
    bus.tell(beat(1, JOBS), *definitions(), *waiting, started(), listing(20, 1, PRIORITIES))
    assert starts(decide(bus.state)) == ["team/b", "team/a"]
    bus.opened()
    observed = [one(name, 30, state) for name, state in states.items()]
    bus.tell(beat(2, JOBS), started(number=2), *observed, listing(40, 2, states))
    return bus


def listing(version: int, number: int, present: Mapping[str, object]) -> observations.SyncCompleted:
    return completed(version, *(f"uid-{name}" for name in present), number=number)


def later(bus: Bus) -> list[DecisionEvent]:
    """Return what is decided at once, and when orders are due again."""
    decided = decide(bus.state)
    bus.at_us += 20 * SECOND
    bus.tell(beat(22, JOBS))
    return decided + decide(bus.state)


def starts(decided: list[DecisionEvent]) -> list[str]:
    return [each.workload for each in decided if isinstance(each, StartOrdered)]


def evictions(decided: list[DecisionEvent]) -> list[tuple[str, str]]:
    return [(each.workload, each.reason) for each in decided if isinstance(each, WorkloadEvicted)]


@pytest.mark.parametrize(
    ("running", "leaves", "begins"),
    [
        ("bc", "a", ""),  # as the lost entries had it: "c" preempted "a"
        ("ac", "b", ""),
        ("cd", "ab", ""),
        ("c", "a", "b"),  # one of them is enough
        ("b", "", "a"),
        ("", "", "ab"),
    ],
)
def test_a_stopped_workload_makes_way_for_what_runs_by_lost_entries(
    running: str, leaves: str, begins: str
) -> None:
    states = dict.fromkeys("ab", STOPPED) | dict.fromkeys(running, RUNNING)
    decided = later(recovered(states))
    assert evictions(decided) == [(f"team/{name}", LEDGER_RECOVERED) for name in leaves]
    assert sorted(starts(decided)) == [f"team/{name}" for name in begins]


def test_a_workload_that_made_way_waits_as_any_other_once_its_stop_is_proven() -> None:
    bus = recovered({"a": STOPPED, "b": RUNNING, "c": RUNNING})
    [stop] = [each for each in later(bus) if isinstance(each, StopOrdered)]
    mark = observations.JobState(decision=f"{LEDGER}/{bus.state.seq}")
    bus.tell(one("a", 50, mark))
    [again] = [each for each in decide(bus.state) if isinstance(each, WorkloadRequeued)]
    assert (again.workload, again.reason) == (stop.workload, LEDGER_RECOVERED)
    assert bus.state.workloads["team/a"].phase == "pending"


def test_a_job_that_was_seen_to_run_is_started_again_whatever_is_used() -> None:
    """As without a recovery: no admitted workload leaves because quota became less."""
    bus = recovered({"a": RUNNING, "b": RUNNING, "c": RUNNING})
    bus.tell(one("a", 50, observations.JobState()))
    decided = later(bus)
    assert (evictions(decided), starts(decided)) == ([], ["team/a"])


def test_a_job_that_ran_all_the_time_is_started_again_whatever_is_used() -> None:
    """A list that shows it running as it did is no news, and counts all the same."""
    bus = Bus().opened()
    running = [one(name, 10, RUNNING) for name in PRIORITIES]
    bus.tell(beat(1, JOBS), *definitions(), *running, started(), listing(20, 1, PRIORITIES))
    decide(bus.state)
    bus.opened()
    bus.tell(beat(2, JOBS), started(number=2), *running, one("c", 30, RUNNING))
    bus.tell(listing(40, 2, dict.fromkeys("abc")))
    decide(bus.state)
    bus.tell(one("a", 50, observations.JobState()))
    decided = later(bus)
    assert (evictions(decided), starts(decided)) == ([], ["team/a"])
