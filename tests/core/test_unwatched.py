"""Jobs whose kind is no longer watched: disabled in the configuration, or without its CRD."""

from __future__ import annotations

import pytest

from tests.core.telling import JOBS, RUNNING, SECOND, Bus, beat, completed, job, queues, started
from tidegate.contracts.decisions import WorkloadPending
from tidegate.contracts.facts import FactEvent, WorkloadAdopted, WorkloadRemoved
from tidegate.contracts.observations import NamespaceObserved, PolicyObserved
from tidegate.core.accepting.jobs.adoption import has_synced
from tidegate.core.decide import decide
from tidegate.core.state.dedup import Dedup
from tidegate.model.policy import PodsReady, Policy

CREWS = "voyages.ships.example.com"


@pytest.fixture
def bus() -> Bus:
    """Return a ledger with one job, whose kind and another are watched."""
    bus = Bus().opened()
    for resource in (JOBS, CREWS):
        bus.tell(started(resource), completed(5, resource=resource))
    bus.tell(*queues(), beat(1, JOBS, CREWS), job())
    return bus


def after(bus: Bus, seconds: int, *resources: str, session: str = "b") -> list[FactEvent]:
    bus.at_us += seconds * SECOND
    return bus.tell(beat(1 + bus.at_us // SECOND, *resources, session=session))


def released(facts: list[FactEvent]) -> list[str]:
    return [fact.reason for fact in facts if isinstance(fact, WorkloadRemoved)]


def test_unwatched_quota_is_released_after_a_while(bus: Bus) -> None:
    assert released(after(bus, 20, CREWS)) == []
    assert released(after(bus, 9, CREWS)) == []
    assert released(after(bus, 1, CREWS)) == ["NotWatched"]
    assert bus.state.workloads == {}


def test_what_is_watched_again_in_time_is_kept(bus: Bus) -> None:
    after(bus, 20, CREWS)
    after(bus, 5, JOBS, CREWS)
    assert released(after(bus, 20, JOBS, CREWS)) == []


def test_what_another_session_watches_is_kept(bus: Bus) -> None:
    after(bus, 1, JOBS, CREWS, session="new")
    after(bus, 1, CREWS)
    after(bus, 8, JOBS, CREWS, session="new")
    assert released(after(bus, 2, CREWS)) == []


def test_a_scheduler_that_starts_again_waits_anew(bus: Bus) -> None:
    after(bus, 20, CREWS)
    bus.state.dedup = Dedup()
    assert released(after(bus, 9, CREWS)) == []
    assert released(after(bus, 10, CREWS)) == ["NotWatched"]


def test_a_workload_that_waits_for_unwatched_pods_says_so() -> None:
    bus = Bus().opened()
    policy = Policy(pods_ready=PodsReady(block_admission=True))
    bus.tell(PolicyObserved(name="p", uid="p", version=1, session="a", policy=policy))
    team = NamespaceObserved(name="team", uid="team", version=1, session="a")
    bus.tell(*queues(), team, beat(1, JOBS), started(JOBS), completed(5), job("first"))
    decide(bus.state, decisions_max=100)
    bus.tell(
        beat(1, CREWS, session="b"), started(CREWS), completed(20, resource=CREWS), job("next")
    )
    waits = [
        decision
        for decision in decide(bus.state, decisions_max=100)
        if isinstance(decision, WorkloadPending)
    ]
    assert "those of team/job-uid-first, whose kind is not watched" in waits[-1].message
    assert waits[-1].requests == {"main": {"cpu": 2_000}}


def test_what_runs_when_its_kind_is_watched_again_is_charged_before_anything_is_decided(
    bus: Bus,
) -> None:
    after(bus, 20, CREWS)
    after(bus, 10, CREWS)
    listed = [job("waits", version=30), job("runs", version=30, state=RUNNING)]
    bus.tell(started(number=2), *listed)  # the heartbeat that names it comes behind its list
    assert decide(bus.state, decisions_max=100) == []
    facts = bus.tell(completed(40, "uid-waits", "uid-runs", number=2))
    assert [fact.workload for fact in facts if isinstance(fact, WorkloadAdopted)] == [
        "team/job-uid-runs"
    ]


def test_a_list_that_was_begun_and_given_up_holds_up_nothing(bus: Bus) -> None:
    after(bus, 20, CREWS)
    after(bus, 10, CREWS)
    bus.tell(started(number=2, session="b"))
    assert not has_synced(bus.state)
    after(bus, 1, CREWS)  # the CRD was there for a moment
    assert has_synced(bus.state)


def test_a_list_that_ended_with_its_session_holds_up_nothing(bus: Bus) -> None:
    after(bus, 20, CREWS)
    after(bus, 10, CREWS)
    bus.tell(started(number=2, session="b"))
    after(bus, 1, CREWS, session="c")
    assert has_synced(bus.state)
