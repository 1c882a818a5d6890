"""Jobs that use a Workload made before them: which is known under its key, and since when."""

from __future__ import annotations

from msgspec.structs import replace

from tests.core.telling import BEGIN, LEDGER, RUNNING, Bus, Fields, job, types
from tidegate.contracts.decisions import (
    QuotaReleased,
    QuotaReserved,
    StopOrdered,
    WorkloadAdmitted,
    WorkloadEvicted,
)
from tidegate.contracts.facts import WorkloadAdopted
from tidegate.contracts.observations import JobState
from tidegate.core.folding.fold import apply
from tidegate.model.podset import PodSetAssignment

MADE = job("made", kind="workload", workload="team/made", version=30)
TRAIN = job(workload="team/made", prebuilt="made", version=20)
EARLY = replace(TRAIN, workload="team/job-train", gates=("Workload/made",))
UNCLEAR = replace(TRAIN, podsets=(), gates=("Workload/made",))
GIVEN = (PodSetAssignment(name="main", count=1, flavors={"cpu": "f"}, usage={"cpu": 2_000}),)


def admitted(bus: Bus, uid: str) -> None:
    of: Fields = {"workload": "team/made", "uid": uid, "cluster_queue": "cq"}
    apply(bus.state, QuotaReserved(at_us=BEGIN, assignment=GIVEN, **of))
    apply(bus.state, WorkloadAdmitted(at_us=BEGIN, **of))


def test_a_job_takes_its_workload_over_though_its_own_version_is_older() -> None:
    bus = Bus().opened()
    bus.tell(MADE)
    assert types(bus.tell(TRAIN)) == ["WorkloadRemoved", "WorkloadSubmitted"]
    assert (bus.only().key, bus.only().uid) == ("team/made", "uid-train")


def test_a_job_keeps_what_its_workload_was_admitted_with() -> None:
    bus = Bus().opened()
    bus.tell(MADE)
    admitted(bus, "uid-made")
    facts = bus.tell(TRAIN)
    assert isinstance(facts[-1], WorkloadAdopted)
    assert facts[-1].assignment == GIVEN
    assert (bus.only().phase, bus.only().cluster_queue) == ("admitted", "cq")


def test_a_workload_that_is_a_jobs_is_not_queued_beside_it() -> None:
    bus = Bus().opened()
    bus.tell(TRAIN)
    assert bus.tell(MADE) == []
    assert bus.only().uid == "uid-train"


def test_a_workload_whose_job_is_gone_is_queued_by_itself_again() -> None:
    bus = Bus().opened()
    bus.tell(MADE, TRAIN, job("other"))
    bus.tell(replace(TRAIN, version=40, state=JobState(deleting=True)))
    assert types(bus.tell(replace(MADE, version=41))) == ["WorkloadSubmitted"]


def test_a_job_of_whose_workload_nothing_is_known_yet_waits_and_changes_nothing() -> None:
    bus = Bus().opened()
    assert types(bus.tell(UNCLEAR)) == ["WorkloadSubmitted"]
    assert bus.only().gates
    bus.tell(TRAIN)
    known = bus.only().podsets
    assert bus.tell(replace(UNCLEAR, version=50)) == []
    assert bus.only().podsets == known


def test_what_a_running_job_asks_for_is_learned_from_its_workload() -> None:
    bus = Bus().opened()
    bus.tell(replace(UNCLEAR, state=RUNNING))
    bus.tell(replace(TRAIN, state=RUNNING))
    assert (bus.only().podsets, bus.only().gates) == (TRAIN.podsets, ())


def test_a_job_that_waited_becomes_its_workload() -> None:
    bus = Bus().opened()
    bus.tell(EARLY)
    assert types(bus.tell(replace(TRAIN, version=21))) == ["WorkloadRemoved", "WorkloadSubmitted"]
    assert bus.only().key == "team/made"
    assert bus.tell(replace(TRAIN, version=22)) == []


def test_a_running_job_whose_workload_went_is_asked_to_stop_first() -> None:
    bus = Bus().opened()
    bus.tell(TRAIN)
    admitted(bus, "uid-train")
    runs = replace(TRAIN, version=60, state=RUNNING)
    bus.tell(runs)
    gone = replace(EARLY, version=61, state=RUNNING)
    assert types(bus.tell(gone)) == ["WorkloadChanged"]
    assert (bus.only().key, bus.only().active) == ("team/made", False)


def test_a_job_whose_workload_went_is_another_once_its_template_is_restored() -> None:
    bus = Bus().opened()
    bus.tell(TRAIN)
    admitted(bus, "uid-train")
    bus.tell(replace(TRAIN, version=60, state=RUNNING))
    bus.tell(replace(EARLY, version=61, state=RUNNING))
    of: Fields = {"at_us": BEGIN, "workload": "team/made", "uid": "uid-train"}
    apply(bus.state, WorkloadEvicted(**of, cluster_queue="cq", reason="Deactivated"))
    apply(bus.state, StopOrdered(**of, job=bus.only().job))
    stopped = JobState(decision=f"{LEDGER}/{bus.state.seq}", injected=True)
    assert "WorkloadStopped" in types(bus.tell(replace(EARLY, version=62, state=stopped)))
    apply(bus.state, QuotaReleased(**of, cluster_queue="cq", reason="Evicted"))
    bus.tell(replace(EARLY, version=63, state=stopped))
    assert bus.only().key == "team/made"
    bus.tell(replace(EARLY, version=64, state=replace(stopped, injected=False)))
    assert bus.only().key == "team/job-train"
