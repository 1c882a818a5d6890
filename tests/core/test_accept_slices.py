"""Elastic jobs: what each change of their size tells, and what goes with them."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace

from tests.core.telling import (
    BEGIN,
    JOBS,
    LEDGER,
    Bus,
    Fields,
    completed,
    gone,
    job,
    started,
    types,
)
from tidegate.contracts.decisions import (
    QuotaReleased,
    QuotaReserved,
    StartOrdered,
    WorkloadAdmitted,
    WorkloadEvicted,
)
from tidegate.contracts.facts import (
    JobStateReported,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadRemoved,
    WorkloadSubmitted,
)
from tidegate.contracts.observations import JobObserved, JobState, Observation
from tidegate.core.accepting.jobs.siblings import other_slices
from tidegate.core.folding.fold import apply
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, PodSet, PodSetAssignment
from tidegate.model.policy import Policy

Told: TypeAlias = WorkloadSubmitted | WorkloadChanged | WorkloadRemoved | WorkloadFinished
KEY, UID = "team/job-uid-train", "uid-train"
SLICE = f"{KEY}-4"
REF = ObjectRef(kind="batch/job", namespace="team", name="train", uid=UID)


def sized(pods: int, version: int, *, active: int = 0, **value: Any) -> JobObserved:  # noqa: ANN401 - a job's fields
    podset = PodSet(count=pods, containers=(Container(requests={"cpu": "1"}),))
    state = JobState(
        suspended=not active,
        started=active > 0,
        active=active,
        decision=f"{LEDGER}/9",
        generation=pods,
    )
    return job(version=version, elastic=True, podsets=(podset,), state=state, **value)


def workload_events(bus: Bus, *observations: Observation) -> list[Told]:
    """Return what is reported of workloads themselves, not of how their job stands."""
    return [event for event in bus.tell(*observations) if isinstance(event, Told)]


def given(pods: int) -> tuple[PodSetAssignment, ...]:
    usage = {"cpu": 1_000 * pods}
    return (PodSetAssignment(name="main", count=pods, flavors={"cpu": "f"}, usage=usage),)


def admit(bus: Bus, key: str, uid: str, pods: int) -> None:
    of: Fields = {"at_us": BEGIN, "workload": key, "uid": uid, "cluster_queue": "cq"}
    for event in (
        QuotaReserved(assignment=given(pods), **of),
        WorkloadAdmitted(**of),
        StartOrdered(job=REF, **of),
    ):
        apply(bus.state, event)


@pytest.fixture
def bus() -> Bus:
    """Two pods of an elastic job run."""
    bus = Bus().opened()
    bus.tell(sized(2, 10))
    admit(bus, KEY, UID, 2)
    bus.tell(sized(2, 11, active=2))
    return bus


def replaced(bus: Bus) -> None:
    of: Fields = {"at_us": BEGIN, "workload": KEY, "uid": UID, "cluster_queue": "cq"}
    apply(bus.state, QuotaReleased(reason="WorkloadSliceReplaced", **of))
    admit(bus, SLICE, f"{UID}/4", 4)


def test_a_job_that_runs_and_grows_asks_for_a_slice_beside_it(bus: Bus) -> None:
    [event] = workload_events(bus, sized(4, 12, active=4))
    assert isinstance(event, WorkloadSubmitted)
    assert (event.workload, event.uid, event.replaces, event.job) == (SLICE, f"{UID}/4", KEY, REF)
    assert [podset.count for podset in event.podsets] == [4]
    assert bus.state.workloads[KEY].podsets[0].count == 2
    assert workload_events(bus, sized(4, 13, active=4)) == []


def test_a_slice_that_waits_changes_with_its_job_and_goes(bus: Bus) -> None:
    bus.tell(sized(4, 12, active=4))
    [changed] = workload_events(bus, sized(3, 13, active=4))
    assert isinstance(changed, WorkloadChanged)
    assert (changed.workload, changed.podsets[0].count, changed.replaces) == (SLICE, 3, KEY)
    [changed, _] = workload_events(bus, sized(3, 14, active=3, gates=("g",)))
    assert (changed.workload, bus.state.workloads[SLICE].gates) == (SLICE, ("g",))
    assert types(workload_events(bus, sized(2, 15, active=3)))[0] == "WorkloadRemoved"
    assert list(bus.state.workloads) == [KEY]
    assert bus.state.workloads[KEY].successor == ""


def test_a_job_that_shrinks_keeps_its_quota_until_the_pods_are_gone(bus: Bus) -> None:
    assert workload_events(bus, sized(1, 12, active=2)) == []
    [changed] = workload_events(bus, sized(1, 13, active=1))
    assert isinstance(changed, WorkloadChanged)
    assert bus.state.workloads[KEY].charges == ((("f", "cpu"), 1_000),)
    assert workload_events(bus, sized(1, 14, active=1)) == []


def test_a_job_that_waits_changes_its_size_in_place() -> None:
    bus = Bus().opened()
    bus.tell(sized(2, 10))
    assert types(workload_events(bus, sized(5, 11))) == ["WorkloadChanged"]
    assert bus.only().podsets[0].count == 5


def test_a_slice_that_took_over_stands_for_its_job(bus: Bus) -> None:
    bus.tell(sized(4, 12, active=4))
    replaced(bus)
    heir, older = bus.state.workloads[SLICE], bus.state.workloads[KEY]
    assert (older.phase, older.charges, older.finished_us) == ("finished", (), BEGIN)
    assert (heir.state.active, bus.state.by_uid[UID]) == (4, SLICE)
    [event, *_] = bus.tell(sized(4, 13))
    assert isinstance(event, JobStateReported)
    assert event.workload == SLICE


@pytest.mark.parametrize("how", ["watch", "list"])
def test_all_workloads_of_a_job_go_with_it(bus: Bus, how: str) -> None:
    bus.tell(sized(4, 12, active=4))
    replaced(bus)
    bus.tell(sized(5, 13, active=5))
    observations = [gone(version=20)] if how == "watch" else [started(), completed(30)]
    assert [
        text for text in types(workload_events(bus, *observations)) if text == "WorkloadRemoved"
    ] == ["WorkloadRemoved"] * 3
    assert (bus.state.workloads, bus.state.by_uid) == ({}, {})


def test_a_list_that_has_a_job_removes_none_of_its_workloads(bus: Bus) -> None:
    bus.tell(sized(4, 12, active=4))
    replaced(bus)
    present = replace(completed(30), present=(UID,))
    assert "WorkloadRemoved" not in types(workload_events(bus, started(JOBS), present))
    assert list(bus.state.workloads) == [KEY, SLICE]


def test_a_job_that_ends_takes_along_what_waits_beside_it(bus: Bus) -> None:
    bus.tell(sized(4, 12, active=4))
    events = bus.tell(sized(4, 13, active=4, finished="Succeeded"))
    assert types(events) == ["WorkloadRemoved", "WorkloadFinished"]


def test_no_slice_takes_over_from_one_that_has_to_leave(bus: Bus) -> None:
    bus.tell(sized(4, 12, active=4))
    of: Fields = {"at_us": BEGIN, "workload": KEY, "uid": UID, "cluster_queue": "cq"}
    apply(bus.state, WorkloadEvicted(reason="Preempted", **of))
    assert (
        types(workload_events(bus, sized(4, 13, active=4, priority_class="p")))[0]
        == "WorkloadRemoved"
    )


def test_a_closed_gate_makes_a_job_as_any_other() -> None:
    bus = Bus().opened()
    bus.state.policy = Policy(gates={"ElasticJobsViaWorkloadSlices": False})
    bus.tell(sized(2, 10))
    admit(bus, KEY, UID, 2)
    assert "WorkloadSubmitted" not in types(workload_events(bus, sized(4, 11, active=4)))
    assert not bus.only().elastic


def test_a_job_that_is_elastic_no_more_is_submitted_anew_once_it_runs_no_more(bus: Bus) -> None:
    bus.tell(sized(4, 12, active=4))
    replaced(bus)
    plain = replace(sized(4, 13, active=4), elastic=False)
    assert types(workload_events(bus, plain)) == []
    of: Fields = {"at_us": BEGIN, "workload": SLICE, "uid": f"{UID}/4", "cluster_queue": "cq"}
    apply(bus.state, QuotaReleased(reason="Evicted", **of))
    names = types(workload_events(bus, replace(sized(4, 14), elastic=False)))
    assert names == ["WorkloadRemoved", "WorkloadRemoved", "WorkloadSubmitted"]
    assert (bus.only().key, bus.only().elastic) == (KEY, False)


def test_a_job_that_was_restored_in_the_version_of_its_slice_grows_into_another(bus: Bus) -> None:
    bus.tell(sized(4, 12, active=4))
    replaced(bus)
    bus.tell(sized(3, 13, active=3))
    [event, *_] = workload_events(bus, sized(4, 14, active=4))
    assert isinstance(event, WorkloadSubmitted)
    assert (event.workload, event.uid, event.replaces) == (f"{KEY}-5", f"{UID}/5", SLICE)
    assert bus.state.workloads[SLICE].successor == f"{KEY}-5"


def test_a_slice_that_replaces_itself_goes_with_its_job(bus: Bus) -> None:
    bus.tell(sized(4, 12, active=4))
    replaced(bus)
    heir = bus.state.workloads[SLICE]
    heir.replaces = heir.successor = SLICE
    assert list(other_slices(bus.state, heir)) == []
