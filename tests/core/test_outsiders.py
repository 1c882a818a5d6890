"""What a tenant's object, or a member cluster, says of others' jobs and trees: nothing counts."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.core.member_clusters import MEMBERS, Hub
from tests.core.placed_jobs import BODY, Placing
from tests.core.queues import of_cpu
from tests.core.telling import RUNNING, completed, gone, job, started, types
from tidegate.contracts.decision_kinds.copies import CopyOrdered
from tidegate.contracts.observations import ActuationReported, Observation
from tidegate.contracts.observed.clusters import CopySeen
from tidegate.contracts.observed.handovers import MovedQueue, TreeReleasedObserved
from tidegate.model.quota import Quota


def test_a_copy_stays_the_copy_of_the_job_that_it_was_seen_for() -> None:
    world = Placing()
    first, second = world.submit("east"), world.submit("east", "other")
    world.copy("west", origin=first.uid)
    world.copy("west", origin=second.uid, state=RUNNING)
    world.copy_gone("west")
    assert (world.hub.bus.state.copies, first.copies, second.copies) == ({}, {}, {})
    assert world.orders() == [("CopyOrdered", "west"), ("CopyOrdered", "west")]


def test_a_copy_without_its_marks_is_still_one_and_differs() -> None:
    world = Placing()
    workload = world.submit("east")
    world.hub.decide()
    world.copy("west", origin=workload.uid)
    unmarked = job("train", uid="copy-train", version=90, state=RUNNING)
    names = types(world.hub.members["west"].tell(unmarked))
    assert names == ["CopyReported", "WorkloadMismatched"]
    assert world.hub.bus.only() is workload


@pytest.mark.parametrize(("name", "body"), [("other", BODY), ("train", "")])
def test_what_is_marked_as_the_copy_of_another_s_job_does_not_end_it(name: str, body: str) -> None:
    world = Placing()
    workload = world.submit("east", body=body)
    events = world.copy("west", name, origin=workload.uid, finished="Succeeded")
    assert (types(events), workload.phase) == (["CopyReported"], "pending")
    assert ("CopyRemovalOrdered", "west") in world.orders()


def test_no_job_that_waits_gets_quota_by_what_is_marked_as_its_copy() -> None:
    false = replace(job("other", state=RUNNING), copy=CopySeen(origin="uid-train"))
    hub = Hub().open(listed=(false,), own=(job("train"),))
    assert hub.bus.only().phase == "pending"


def test_what_becomes_of_a_copy_its_own_cluster_alone_may_say() -> None:
    world = Placing()
    world.submit("")
    [*_, order] = world.hub.decide()
    assert isinstance(order, CopyOrdered)
    state = world.hub.bus.state
    report = ActuationReported(
        job=replace(order.copy, cluster=""),
        workload="team/job-uid-train",
        decision=f"{state.ledger_id}/{state.seq}",
        reason="invalid",
        origin=order.uid,
    )
    assert world.hub.members["west"].tell(report) == []
    assert types(world.hub.members["east"].tell(report)) == ["ActuationFailed"]


def test_a_copy_that_was_ordered_away_goes_though_its_job_gets_quota_there_since() -> None:
    world = Placing()
    world.accept("west", "false")
    workload = world.submit("east")
    world.copy("west", origin=workload.uid)
    assert world.orders() == [("CopyRemovalOrdered", "west")]
    world.accept("west")
    assert world.orders() == [("CopyOrdered", "west")]
    world.hub.pass_time(3 * world.hub.bus.state.policy.repair_after_us // 1_000_000, *MEMBERS)
    assert ("CopyRemovalOrdered", "west") in world.orders()


@pytest.mark.parametrize("origin", ["x@nowhere", "x@a@b@nowhere", "@nowhere", "x@"])
def test_what_is_marked_as_the_copy_of_a_job_of_no_member_is_ordered_away(origin: str) -> None:
    world = Placing()
    world.copy("west", "own", origin=origin, state=RUNNING)
    assert world.orders() == [("CopyRemovalOrdered", "west")]


LISTED: tuple[Observation, ...] = (started(number=2), completed(90, number=2))


@pytest.mark.parametrize("observations", [(gone("own", 90, uid="copy-own"),), LISTED])
def test_a_job_that_was_marked_as_a_copy_later_goes_as_both(
    observations: tuple[Observation, ...],
) -> None:
    world = Placing()
    west = world.hub.members["west"]
    west.tell(job("own", uid="copy-own"))
    world.copy("west", "own")
    west.tell(*observations)
    state = world.hub.bus.state
    assert (state.copies, state.workloads) == ({}, {})


def test_a_member_cluster_hands_over_no_tree() -> None:
    hub = Hub().open()
    spec = of_cpu({"own": Quota(nominal=1)})
    queue = MovedQueue(name="more", uid="more", version=1, spec=spec)
    tree = TreeReleasedObserved(of_partition=1, ledger_id="other", seq=1, to=0, queues=(queue,))
    assert hub.members["east"].tell(tree) == []
    assert "TreeTaken" in types(hub.bus.tell(tree))
