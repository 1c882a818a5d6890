"""A cluster or a ledger that was restored from a backup: jobs are again what they were before."""

from __future__ import annotations

import pytest

from tests.core.telling import (
    JOBS,
    RUNNING,
    Bus,
    Fields,
    beat,
    completed,
    job,
    queues,
    started,
    types,
)
from tidegate.contracts import observations
from tidegate.contracts.decisions import ReservationRepeated, WorkloadAdmitted
from tidegate.contracts.facts import RoundCompleted, WorkloadAdopted
from tidegate.contracts.observed.jobs import INCOMPLETE
from tidegate.core.decide import decide
from tidegate.core.state.dedup import Dedup


def test_a_job_that_had_ended_and_runs_in_the_restored_cluster_is_submitted_again() -> None:
    bus = Bus().opened()
    bus.tell(*queues(), started(), completed(3), job(version=8, state=RUNNING))
    bus.tell(job(version=20, state=RUNNING, finished="Succeeded"))
    bus.tell(started(number=2))
    bus.tell(job(version=8, state=RUNNING, round=2))
    events = bus.tell(completed(9, job().uid, number=2))
    assert [text for text in types(events) if text.startswith("Workload")] == [
        "WorkloadRemoved",
        "WorkloadSubmitted",
    ]


@pytest.mark.parametrize("version", [20, 21])
def test_a_job_that_had_ended_is_submitted_again_if_no_older_version_runs(version: int) -> None:
    """Versions had grown up to all that was known before the list: no list shows the restore."""
    bus = Bus().opened()
    bus.tell(*queues(), started(), completed(3), job(version=8, state=RUNNING))
    bus.tell(job(version=20, state=RUNNING, finished="Succeeded"))
    events = bus.tell(started(number=2), job(version=version, state=RUNNING, round=2))
    assert [text for text in types(events) if text.startswith("Workload")] == [
        "WorkloadRemoved",
        "WorkloadSubmitted",
    ]


GROUP = "pod-group"
WAITING = observations.JobState()


@pytest.mark.parametrize("state", [WAITING, RUNNING], ids=["waits", "runs"])
def test_a_group_of_pods_that_had_ended_and_is_whole_again_is_submitted_again(
    state: observations.JobState,
) -> None:
    """Its version is that of the list that shows it: no list shows the restore."""
    bus = Bus().opened()
    bus.tell(*queues(), started(), completed(3), job(kind=GROUP, version=8, state=RUNNING))
    ended = observations.JobState(succeeded=2)
    bus.tell(job(kind=GROUP, version=20, state=ended, finished="Succeeded"))
    events = bus.tell(started(number=2), job(kind=GROUP, version=30, state=state, round=2))
    assert [text for text in types(events) if text.startswith("Workload")] == [
        "WorkloadRemoved",
        "WorkloadSubmitted",
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"state": observations.JobState(succeeded=1)},
        {"gates": (INCOMPLETE,)},
        {"state": observations.JobState(started=True, succeeded=1)},
    ],
    ids=["one that succeeded is left", "not whole", "its node is lost"],
)
def test_a_group_of_pods_that_had_ended_stays_so_with_fewer_or_further_pods(fields: Fields) -> None:
    bus = Bus().opened()
    bus.tell(*queues(), started(), completed(3), job(kind=GROUP, version=8, state=RUNNING))
    bus.tell(job(kind=GROUP, version=20, finished="Succeeded"))
    bus.tell(job(kind=GROUP, version=30, **fields))
    assert bus.only().phase == "finished"


def test_an_ended_job_stays_so_after_a_start_whichever_session_reports_it_late() -> None:
    bus = Bus().opened()
    bus.tell(*queues(), started(), completed(3), job(version=8, state=RUNNING))
    bus.tell(job(version=20, state=RUNNING, finished="Succeeded"))
    bus.state.dedup = Dedup()  # as after a start
    assert not bus.tell(job(version=12, state=RUNNING))
    assert bus.only().phase == "finished"


def test_a_namesake_that_the_restored_cluster_brought_back_is_submitted() -> None:
    bus = Bus().opened()
    bus.tell(*queues(), started(), completed(3), job(version=30, uid="later"))
    again = job(version=8, uid="former", round=2)
    events = bus.tell(started(number=2), again, completed(9, "former", number=2))
    assert [text for text in types(events) if text.startswith("Workload")] == [
        "WorkloadRemoved",
        "WorkloadSubmitted",
    ]


@pytest.mark.parametrize("listed", [9, 30])
def test_what_a_late_message_hid_of_a_restored_cluster_is_asked_for(listed: int) -> None:
    """The message is from before the restore; versions may have grown beyond its own meanwhile."""
    bus = Bus().opened()
    bus.tell(*queues(), started(), completed(3), job(version=8))
    bus.tell(started(number=2), job(version=20, finished="Succeeded"), job(version=8, round=2))
    events = bus.tell(completed(9, job().uid, number=2))
    assert types(events) == ["GapObserved", "SyncCompleted"], "only a later list can tell"
    bus.tell(started(number=3), job(version=8, round=3), completed(listed, job().uid, number=3))
    assert bus.only().phase == "pending"
    assert not bus.tell(started(number=4), completed(listed, job().uid, number=4))


def test_what_an_earlier_list_reported_a_restored_cluster_is_asked_for() -> None:
    bus = Bus().opened()
    bus.tell(*queues(), started(), completed(3), job(version=8), job(version=20))
    events = bus.tell(started(number=2), completed(9, job().uid, number=2))
    assert types(events) == ["GapObserved", "SyncCompleted"]
    assert not bus.tell(started(number=3), job(version=8, round=3))
    assert not bus.tell(completed(9, job().uid, number=3)), "once is enough"


def test_a_ledger_under_a_new_name_adopts_what_its_lost_tail_had_started() -> None:
    bus = Bus().opened()
    bus.tell(beat(1, JOBS), *queues(), job(), started(), completed(20, "uid-train"))
    bus.opened()
    running = job(version=30, state=observations.JobState(suspended=False, decision="lost/9"))
    events = bus.tell(
        beat(2, JOBS), started(number=2), running, completed(40, "uid-train", number=2)
    )
    assert isinstance(events[-1], WorkloadAdopted)
    assert any(isinstance(fact, RoundCompleted) for fact in events)


def test_a_ledger_under_a_new_name_tells_each_reservation_again_that_it_kept() -> None:
    """Its lost tail may have evicted, and the Workload may show that."""
    bus = Bus().opened()
    space = observations.NamespaceObserved(name="team", uid="ns", version=1, session="a", labels={})
    bus.tell(beat(1, JOBS), space, *queues(), job(), started(), completed(20, "uid-train"))
    assert any(isinstance(decision, WorkloadAdmitted) for decision in decide(bus.state))
    bus.opened()
    assert decide(bus.state) == [], "not before everything was told"
    bus.tell(beat(2, JOBS), started(number=2), job(), completed(40, "uid-train", number=2))
    [again] = [
        decision for decision in decide(bus.state) if isinstance(decision, ReservationRepeated)
    ]
    assert (again.workload, again.admitted) == ("team/job-uid-train", True)
    assert again.assignment == bus.only().assignment
    assert decide(bus.state) == [], "once is enough"


def test_a_job_that_is_over_is_submitted_if_its_workload_does_not_say_so() -> None:
    """A lost ledger knew it, and what that had shown would stand for ever."""
    bus = Bus().opened()
    assert bus.tell(job(finished="Succeeded")) == []
    events = bus.tell(job(finished="Succeeded", left_open=True, version=11))
    assert types(events) == ["WorkloadSubmitted", "WorkloadFinished"]
    assert bus.only().phase == "finished"
    assert bus.tell(job(finished="Succeeded", version=12)) == []
