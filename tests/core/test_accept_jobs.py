"""What a job's observations tell: once each, and nothing that is known."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.core.telling import JOBS, LEDGER, PODSETS, RUNNING, Bus, Fields, gone, job, types
from tidegate.contracts import observations
from tidegate.contracts.decisions import (
    QuotaReserved,
    StartOrdered,
    StopOrdered,
    WorkloadAdmitted,
    WorkloadEvicted,
)
from tidegate.contracts.facts import WorkloadChanged, WorkloadFinished, WorkloadSubmitted
from tidegate.core.folding.fold import apply
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSet, PodSetAssignment
from tidegate.model.policy import Policy

KEY, UID = "team/job-uid-train", "uid-train"
REF = ObjectRef(kind="batch/job", namespace="team", name="train", uid=UID)
ASSIGNED = (PodSetAssignment(name="main", count=1, flavors={"cpu": "f"}, usage={"cpu": 2_000}),)


@pytest.fixture
def bus() -> Bus:
    bus = Bus().opened()
    bus.tell(job())
    return bus


def admit(bus: Bus) -> None:
    now = bus.state.now_us
    of: Fields = {"workload": KEY, "uid": UID, "cluster_queue": "cq"}
    apply(bus.state, QuotaReserved(at_us=now, assignment=ASSIGNED, **of))
    apply(bus.state, WorkloadAdmitted(at_us=now, **of))
    apply(bus.state, StartOrdered(at_us=now, job=REF, **of))


def evict(bus: Bus) -> int:
    now = bus.state.now_us
    of: Fields = {"workload": KEY, "uid": UID, "cluster_queue": "cq"}
    apply(bus.state, WorkloadEvicted(at_us=now, reason="Preempted", **of))
    apply(bus.state, StopOrdered(at_us=now, job=REF, reason="Preempted", **of))
    return bus.state.seq


def test_a_job_is_submitted_once_as_it_was_written() -> None:
    bus = Bus().opened()
    [submitted] = bus.tell(job(priority_class="high", created_us=7))
    assert isinstance(submitted, WorkloadSubmitted)
    assert (submitted.job, submitted.resource, submitted.podsets) == (REF, JOBS, PODSETS)
    assert (submitted.priority_class, submitted.created_us) == ("high", 7)
    assert bus.tell(job(priority_class="high", created_us=7, version=11)) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"queue": ""},
        {"finished": "Succeeded"},
        {"state": observations.JobState(deleting=True)},
    ],
)
def test_a_job_that_asks_for_nothing_is_not_submitted(fields: Fields) -> None:
    assert Bus().opened().tell(job(**fields)) == []


def test_a_job_without_a_queue_is_submitted_where_all_jobs_are_managed() -> None:
    bus = Bus().opened()
    policy = Policy(manage_jobs_without_queue_name=True)
    configured = observations.PolicyObserved(
        name="p", uid="p", version=1, session="s", policy=policy
    )
    assert types(bus.tell(configured, configured)) == ["PolicyConfigured"]
    assert types(bus.tell(job(queue=""))) == ["WorkloadSubmitted"]


CHANGES: list[Fields] = [
    {"queue": "other"},
    {"priority_class": "high"},
    {"pod_priority_class": "high"},
    {"priority": 5},
    {"podsets": (PodSet(count=2),)},
    {"active": False},
    {"max_execution_s": 60},
    {"priority_boost": 1},
    {"gates": ("check",)},
    {"preemption_gates": ("gate",)},
    {"allowed_flavors": ("f",)},
    {"replaces": "team/older"},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_each_thing_that_is_asked_for_is_news_when_it_changes(bus: Bus, change: Fields) -> None:
    [changed] = bus.tell(job(version=11, **change))
    assert isinstance(changed, WorkloadChanged)
    [(name, value)] = change.items()
    assert getattr(changed, name) == value
    assert bus.tell(job(version=12, **change)) == []


def test_a_job_that_runs_is_read_again_once_it_is_suspended(bus: Bus) -> None:
    running = observations.JobState(suspended=False)  # a kind that has no start time
    assert types(bus.tell(job(version=11, queue="other", state=running))) == ["JobStateReported"]
    assert "WorkloadChanged" in types(bus.tell(job(version=12, queue="other")))


def test_a_jobs_author_is_no_news_by_itself(bus: Bus) -> None:
    assert bus.tell(job(version=11, author="alice")) == []


def test_a_running_job_carries_what_its_start_put_in(bus: Bus) -> None:
    admit(bus)
    injected = (replace(PODSETS[0], count=1, node_selector={"size": "big"}),)
    fields: Fields = {"podsets": injected, "queue": "other"}
    assert types(bus.tell(job(version=11, state=RUNNING, **fields))) == ["JobStateReported"]
    leaving = observations.JobState(started=True)
    assert types(bus.tell(job(version=12, state=leaving, **fields))) == ["JobStateReported"]
    restored = bus.tell(job(version=13, queue="other"))
    assert types(restored) == ["WorkloadChanged", "JobStateReported"]


@pytest.mark.parametrize(
    "state",
    [
        observations.JobState(suspended=False),
        observations.JobState(started=True),
        observations.JobState(active=1),
        observations.JobState(decision="ledger-1/9"),
        observations.JobState(generation=2),
        observations.JobState(deleting=True, active=1),
    ],
)
def test_how_a_job_stands_is_news_if_a_decision_may_depend_on_it(
    bus: Bus, state: observations.JobState
) -> None:
    assert "JobStateReported" in types(bus.tell(job(version=11, state=state)))
    assert bus.tell(job(version=12, state=state)) == []


def test_counts_of_pods_are_no_news(bus: Bus) -> None:
    admit(bus)
    bus.tell(job(version=11, state=replace(RUNNING, active=1)))
    assert bus.tell(job(version=12, state=replace(RUNNING, active=3))) == []
    assert bus.tell(job(version=13, state=replace(RUNNING, succeeded=0, active=2))) == []


def proof(bus: Bus) -> observations.JobState:
    """Return how a job stands that carried out its newest order, a stop."""
    order = bus.only().order
    assert order is not None
    return observations.JobState(decision=f"{LEDGER}/{order.seq}")


@pytest.mark.parametrize(
    "flaw",
    [
        {"decision": f"{LEDGER}/1"},
        {"decision": "another/99"},
        {"decision": ""},
        {"decision": "99"},
        {"decision": f"{LEDGER}/+99"},
        {"decision": f"{LEDGER}/99"},
        {"decision": f"{LEDGER}/{'9' * 5_000}"},
        {"active": 1},
        {"started": True},
        {"suspended": False},
    ],
    ids=str,
)
def test_a_stop_is_proven_by_nothing_less_than_all_of_it(bus: Bus, flaw: Fields) -> None:
    admit(bus)
    bus.tell(job(version=11, state=RUNNING))
    evict(bus)
    shown = proof(bus)
    flawed = replace(shown, **flaw)
    assert "WorkloadStopped" not in types(bus.tell(job(version=12, state=flawed)))
    names = types(bus.tell(job(version=13, state=shown)))
    assert names == ["JobStateReported", "WorkloadStopped"]
    again = replace(shown, generation=4)
    assert types(bus.tell(job(version=14, state=again))) == ["JobStateReported"], "proven once"


def test_the_seq_of_the_stop_itself_proves_it(bus: Bus) -> None:
    admit(bus)
    bus.tell(job(version=11, state=RUNNING))
    seq = evict(bus)
    proof = observations.JobState(decision=f"{LEDGER}/{seq}")
    early = observations.JobState(decision=f"{LEDGER}/{seq - 1}")
    assert "WorkloadStopped" not in types(bus.tell(job(version=12, state=early)))
    assert "WorkloadStopped" in types(bus.tell(job(version=13, state=proof)))


def test_what_is_charged_stays_until_the_stop_is_proven(bus: Bus) -> None:
    admit(bus)
    evict(bus)
    fewer = (PodSet(name="other", containers=PODSETS[0].containers),)
    idle = observations.JobState(decision=f"{LEDGER}/1")  # an older start may still be on its way
    assert types(bus.tell(job(version=11, podsets=fewer, state=idle))) == ["JobStateReported"]
    assert bus.only().podsets == PODSETS
    names = types(bus.tell(job(version=12, podsets=fewer, state=proof(bus))))
    assert names == ["WorkloadChanged", "JobStateReported", "WorkloadStopped"]
    assert bus.only().podsets == fewer


def test_all_pods_ready_and_no_longer(bus: Bus) -> None:
    admit(bus)
    ready = replace(RUNNING, ready=1)
    events = bus.tell(job(version=11, state=ready))
    assert types(events) == ["JobStateReported", "PodsReadyReported"]
    assert types(bus.tell(job(version=12, state=RUNNING))) == ["PodsReadyReported"]
    done = replace(RUNNING, succeeded=1)
    assert types(bus.tell(job(version=13, state=done))) == ["PodsReadyReported"]


def test_pods_that_are_done_for_good_are_reported_once(bus: Bus) -> None:
    fields: Fields = {"reclaimable": {"main": 1}}
    assert types(bus.tell(job(version=11, **fields))) == ["PodsReclaimed"]
    assert bus.tell(job(version=12, **fields)) == []


def test_a_finish_is_reported_once_and_ends_the_story(bus: Bus) -> None:
    [finished] = bus.tell(job(version=11, finished="Failed", message="no luck"))
    assert isinstance(finished, WorkloadFinished)
    assert (finished.reason, finished.message) == ("Failed", "no luck")
    assert bus.tell(job(version=12, finished="Failed", queue="other")) == []
    assert types(bus.tell(gone())) == ["WorkloadRemoved"]


def test_a_job_being_deleted_is_removed_once_its_pods_are_gone(bus: Bus) -> None:
    admit(bus)
    going = replace(RUNNING, deleting=True)
    assert types(bus.tell(job(version=11, state=going))) == ["JobStateReported"]
    ended = replace(going, active=0)
    assert types(bus.tell(job(version=12, state=ended))) == ["WorkloadRemoved"]
    assert bus.tell(job(version=13, state=ended), gone()) == []


def test_a_job_whose_label_goes_while_it_waits_is_ours_no_more(bus: Bus) -> None:
    assert types(bus.tell(job(version=11, queue=""))) == ["WorkloadRemoved"]
    assert bus.state.workloads == {}


def test_a_label_that_goes_while_the_job_runs_counts_once_it_has_stopped(bus: Bus) -> None:
    admit(bus)
    assert types(bus.tell(job(version=11, queue="", state=RUNNING))) == ["JobStateReported"]
    evict(bus)
    events = bus.tell(job(version=12, queue="", state=proof(bus)))
    assert types(events) == ["JobStateReported", "WorkloadStopped", "WorkloadRemoved"]


def test_a_namesake_replaces_the_older_one_and_the_past_does_not(bus: Bus) -> None:
    newer = job(uid="uid-2", version=30)
    assert types(bus.tell(newer)) == ["WorkloadRemoved", "WorkloadSubmitted"]
    assert bus.only().uid == "uid-2"
    assert bus.tell(job(version=12), gone(version=31)) == []
    assert bus.only().uid == "uid-2"


def test_an_older_namesake_never_observed_before_is_the_past() -> None:
    bus = Bus().opened()
    bus.tell(job(uid="uid-2", version=30))
    assert bus.tell(job(version=12, round=3)) == []
    assert bus.only().uid == "uid-2"


def test_an_unmanaged_namesake_ends_the_older_one_too(bus: Bus) -> None:
    assert types(bus.tell(job(uid="uid-2", version=30, queue=""))) == ["WorkloadRemoved"]


def report(decision: str, reason: str = "invalid") -> observations.ActuationReported:
    return observations.ActuationReported(job=REF, workload=KEY, decision=decision, reason=reason)


def test_a_failure_counts_for_the_order_that_stands(bus: Bus) -> None:
    assert bus.tell(report(f"{LEDGER}/1")) == [], "nothing was ordered"
    admit(bus)
    seq = bus.state.seq
    assert bus.tell(report("another/99"), report(f"{LEDGER}/{seq - 1}")) == []
    assert bus.tell(report(f"{LEDGER}/{seq + 1}")) == []
    current = report(f"{LEDGER}/{seq}")
    assert types(bus.tell(current, current)) == ["ActuationFailed"]
    assert bus.only().failure is not None


def test_a_job_that_asked_for_no_queue_for_a_while_asks_again() -> None:
    bus = Bus().opened()
    bus.tell(job(version=10))
    assert types(bus.tell(job(version=11, queue=""))) == ["WorkloadRemoved"]
    assert types(bus.tell(job(version=10))) == []  # the past
    assert types(bus.tell(job(version=12))) == ["WorkloadSubmitted"]
