"""An elastic job that a manager sent, between two slices: nothing runs that is not charged."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.core.telling import BEGIN, Bus, Fields, gone, job, types
from tests.core.test_accept_slices import admit, sized
from tidegate.contracts.decisions import QuotaReleased
from tidegate.contracts.facts import WorkloadFinished
from tidegate.contracts.observations import JobObserved
from tidegate.core.folding.fold import apply
from tidegate.core.state.desired_state import desired_order

ONE, TWO = "team/one", "team/two"


def copy(name: str, pods: int, **obj: str) -> JobObserved:
    """Return the Workload of a slice as its manager sent it."""
    podsets = sized(pods, 1).podsets
    direct = job(name, kind="workload", workload=f"team/{name}", version=5, elastic=True, **obj)
    return replace(direct, podsets=podsets)


def sent(pods: int, version: int, slice_: str, name: str = "train", *, active: int) -> JobObserved:
    """Return a job that is one with a slice; ``pods``: as that asks for."""
    observation = sized(pods, version, active=active)
    named = job(name, version=version, elastic=True, prebuilt=slice_, workload=f"team/{slice_}")
    return replace(named, podsets=observation.podsets, state=observation.state)


@pytest.fixture
def bus() -> Bus:
    """Return a ledger whose job of two pods runs for one, and whose slice two was admitted."""
    bus = Bus().opened()
    bus.tell(copy("one", 2))
    admit(bus, ONE, "uid-one", 2)
    bus.tell(sent(2, 10, "one", active=0), sent(2, 11, "one", active=2))
    bus.tell(copy("two", 4, replaces=ONE))
    of: Fields = {"at_us": BEGIN, "workload": ONE, "uid": "uid-train", "cluster_queue": "cq"}
    apply(bus.state, QuotaReleased(reason="WorkloadSliceReplaced", **of))
    admit(bus, TWO, "uid-two", 4)
    assert {key: workload.phase for key, workload in bus.state.workloads.items()} == {
        ONE: "finished",
        TWO: "admitted",
    }
    return bus


def test_a_job_that_grows_before_its_manager_made_it_one_with_the_newer_slice_is_stopped(
    bus: Bus,
) -> None:
    grown = replace(sent(2, 12, "one", active=100), active=False)  # as ingest tells what differs
    [event] = bus.tell(grown)
    assert isinstance(event, WorkloadFinished)
    assert event.reason == "OutOfSync"
    assert desired_order(bus.state.workloads[ONE]) == "stop"
    assert bus.tell(replace(grown, version=13)) == []
    bus.tell(sent(4, 15, "two", active=0))
    assert {key: workload.phase for key, workload in bus.state.workloads.items()} == {
        TWO: "admitted"
    }
    assert desired_order(bus.state.workloads[TWO]) == "start"


def test_a_job_that_stays_as_it_was_goes_on(bus: Bus) -> None:
    assert bus.tell(sent(2, 12, "one", active=2)) == []
    assert desired_order(bus.state.workloads[ONE]) is None


def test_another_job_that_names_the_newer_slice_waits_while_the_older_one_s_runs(bus: Bus) -> None:
    other = sent(4, 12, "two", "other", active=0)
    assert bus.tell(other) == []
    assert bus.state.workloads[TWO].uid == "uid-two"
    bus.tell(gone("train", 13))
    assert "WorkloadAdopted" in types(bus.tell(replace(other, version=14)))
