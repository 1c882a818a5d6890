"""Copies of placed jobs that a user changed where they run, and forged marks of copies."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.core.placed_jobs import Placing
from tests.core.telling import PODSETS, RUNNING, Bus, job, types
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.contracts.observed.clusters import CopySeen
from tidegate.model.podset import Container, PodSet

LARGER = (replace(PODSETS[0], count=100),)
HUNGRIER = (replace(PODSETS[0], containers=(Container(requests={"cpu": "9"}),)),)
OTHERS = (*PODSETS, PodSet(name="more", count=1, containers=PODSETS[0].containers))


@pytest.mark.parametrize("podsets", [LARGER, HUNGRIER, OTHERS], ids=["larger", "more each", "more"])
def test_a_copy_that_asks_for_more_than_is_charged_goes_and_its_job_is_queued_again(
    podsets: tuple[PodSet, ...],
) -> None:
    world = Placing()
    workload = world.started()
    world.copy("west", origin=workload.uid, state=RUNNING, podsets=PODSETS)
    assert world.hub.decide() == []
    events = world.copy("west", origin=workload.uid, state=RUNNING, podsets=podsets)
    assert types(events) == ["WorkloadMismatched"]
    assert types(world.home("east", version=40, body="c" * 64)) == ["WorkloadChanged"]
    assert types(world.hub.decide()) == ["WorkloadEvicted", "CopyRemovalOrdered"]
    assert workload.evicted_reason == "NoMatchingWorkload"
    world.copy_gone("west")
    assert types(world.hub.decide())[:2] == ["QuotaReleased", "WorkloadRequeued"]


def test_where_each_copy_is_changed_a_job_is_not_placed_again_at_once() -> None:
    """As a webhook of the member may change what asks for nothing there yet."""
    world = Placing()
    workload = world.started()
    for _ in range(2):
        world.copy("west", origin=workload.uid, podsets=HUNGRIER)
        assert types(world.hub.decide()) == ["WorkloadEvicted", "CopyRemovalOrdered"]
        world.copy_gone("west")
        assert types(world.hub.decide()) == ["QuotaReleased", "WorkloadRequeued"]
        world.hub.pass_time(59, "east", "west")
        assert world.hub.decide() == []
        world.hub.pass_time(1, "east", "west")
        decided = types(world.hub.decide())
        assert decided[0] == "WorkloadRequeued"
        assert decided[-1] == "CopyOrdered"


def test_a_copy_of_a_job_that_was_admitted_in_part_has_all_its_pods_until_its_start() -> None:
    world = Placing()
    whole = (replace(PODSETS[0], count=6, min_count=1),)
    workload = world.submit("east", podsets=whole)
    world.hub.decide()
    assert workload.assignment[0].count < 6, "there is no room for all"
    podset = replace(whole[0], min_count=None)
    assert types(world.copy("west", origin=workload.uid, podsets=(podset,))) == ["CopyReported"]
    started = replace(podset, count=workload.assignment[0].count)
    world.copy("west", origin=workload.uid, state=RUNNING, podsets=(started,))
    assert not workload.mismatch
    world.copy("west", origin=workload.uid, state=RUNNING, podsets=(podset,))
    assert workload.mismatch


def test_a_copy_that_is_changed_back_before_a_decision_stays() -> None:
    world = Placing()
    workload = world.started()
    world.copy("west", origin=workload.uid, state=RUNNING, podsets=LARGER)
    events = world.copy("west", origin=workload.uid, state=RUNNING, podsets=PODSETS)
    assert types(events) == ["WorkloadMismatched"]
    assert world.hub.decide() == []


def test_a_copy_whose_mark_was_taken_away_goes() -> None:
    world = Placing()
    workload = world.started()
    world.version += 1
    unmarked = job("train", uid="copy-train", version=world.version, podsets=(), state=JobState())
    assert types(world.hub.members["west"].tell(unmarked))[-1] == "WorkloadMismatched"
    assert types(world.hub.decide()) == ["WorkloadEvicted", "CopyRemovalOrdered"]
    assert workload.phase == "evicting"


FORGED: JobObserved = replace(
    job("train", podsets=(), version=20),
    copy=CopySeen(origin="any@east"),
    stray="Unreadable",
    message="It asks for a queue and is marked as another cluster's job.",
)


def test_what_is_marked_as_a_copy_in_the_ledger_s_own_cluster_is_queued_nowhere() -> None:
    bus = Bus().opened()
    assert bus.tell(FORGED) == []
    assert types(bus.tell(replace(FORGED, version=21, state=RUNNING))) == ["StrayReported"]


def test_a_job_that_runs_and_is_marked_as_a_copy_is_stopped() -> None:
    """Else its size would be reported no more, and it could grow."""
    bus = Bus().opened()
    bus.tell(job("train", version=10, state=RUNNING))
    bus.only().phase = "admitted"
    assert types(bus.tell(replace(FORGED, state=RUNNING)))[-1] == "WorkloadMismatched"
