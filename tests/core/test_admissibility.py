"""What may change between two steps of an admission, one row each: then no workload is admitted.

In between a preemptor's victim stops, or an admission check answers Ready, or a first round of
lists ends over what Kueue had reserved quota for.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.core.revoking import CHANGES, Change, Scene
from tests.core.telling import flavor
from tidegate.contracts import observations
from tidegate.contracts.observed.jobs import NO_REPLICAS, VALIDATION_FAILED
from tidegate.core.accepting.jobs.adoption import adopt_workloads
from tidegate.model.quota import FlavorSpec

each_change = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
FREEING = {name: change for name, change in CHANGES.items() if change.frees}


@pytest.fixture
def intended() -> Scene:
    """Return a scene in which ``big`` waits for ``small`` to stop, which is deaf."""
    scene = Scene().open()
    stage = scene.stage
    stage.turn(stage.submit("small", {"cpu": 4}))
    stage.deaf.add("small")
    big = stage.submit("big", {"cpu": 4, "priority": 9})
    podsets = tuple(replace(podset, runtime_class="r") for podset in big.podsets)
    stage.jobs["big"] = replace(big, podsets=podsets)
    stage.turn(stage.jobs["big"])
    assert "PreemptionIntended big" in stage.decided
    return scene


def stop_the_victim(scene: Scene) -> None:
    scene.stage.deaf.clear()
    scene.stage.turn()


@each_change
def test_a_preemptor_that_lost_its_right_is_not_admitted(intended: Scene, change: Change) -> None:
    intended.stage.turn(*change.do(intended))
    stop_the_victim(intended)
    assert "WorkloadAdmitted big" not in intended.stage.decided
    assert not intended.stage.bus.state.intents
    assert change.says in intended.said()


@each_change
def test_it_is_admitted_once_it_may_be_again(intended: Scene, change: Change) -> None:
    intended.stage.turn(*change.do(intended))
    stop_the_victim(intended)
    intended.stage.turn(*change.undo(intended))
    intended.stage.turn()
    assert "WorkloadAdmitted big" in intended.stage.decided


@pytest.mark.parametrize("change", FREEING.values(), ids=FREEING.keys())
def test_a_reservation_that_lost_its_right_does_not_start(change: Change) -> None:
    scene = Scene().open(checks=[{"name": "c"}])
    stage = scene.stage
    stage.turn(stage.submit("big", {"cpu": 4}))
    since, ready = stage.since("big"), (observations.CheckSeen(name="c", state="Ready"),)
    stage.turn(*change.do(scene))
    stage.turn(stage.change("big", checks=ready, checks_since=since))
    assert "QuotaReserved big any x1 checks=c" in stage.decided
    assert "WorkloadAdmitted big" not in stage.decided


def test_a_preemptor_whose_pods_cost_more_by_now_is_placed_anew(intended: Scene) -> None:
    intended.stage.turn(*intended.overhead("1"), *intended.queue(cpu=9))
    stop_the_victim(intended)
    big = intended.stage.bus.state.workloads["team/big"]
    assert [given.usage for given in big.assignment] == [{"cpu": 5_000}]


@pytest.mark.parametrize("change", FREEING.values(), ids=FREEING.keys())
def test_what_kueue_reserved_quota_for_is_not_adopted_against_the_rules(change: Change) -> None:
    scene = Scene().open()
    stage = scene.stage
    stage.bus.tell(stage.submit("big", {"cpu": 4, "held_quota": True}))
    state = stage.bus.state
    assert [event.workload for event in adopt_workloads(state, state.now_us)] == ["team/big"]
    stage.bus.tell(*change.do(scene))
    assert list(adopt_workloads(state, state.now_us)) == []


def test_what_waits_for_a_check_of_kueues_is_not_adopted_as_admitted() -> None:
    scene = Scene().open(checks=[{"name": "c"}])
    stage = scene.stage
    pending = (observations.CheckSeen(name="c", state="Pending"),)
    stage.bus.tell(stage.submit("big", {"cpu": 4, "held_quota": True, "checks": pending}))
    assert list(adopt_workloads(stage.bus.state, stage.bus.state.now_us)) == []
    ready = (observations.CheckSeen(name="c", state="Ready"),)
    stage.bus.tell(stage.change("big", checks=ready))
    assert [event.workload for event in adopt_workloads(stage.bus.state, 0)] == ["team/big"]


def test_of_two_queues_that_are_drained_at_once_the_local_queue_is_why_a_workload_leaves() -> None:
    scene = Scene().open()
    stage, drained = scene.stage, "HoldAndDrain"
    stage.turn(stage.submit("big", {"cpu": 4}))
    stage.turn(*scene.queue(stop_policy=drained), *scene.local(stop_policy=drained))
    assert "WorkloadEvicted big LocalQueueStopped" in stage.decided


def test_a_device_class_that_no_quota_counts_is_named() -> None:
    scene = Scene().open()
    stage = scene.stage
    stage.turn(stage.submit("big", {"gates": ("DeviceClass/gpus.example.com",)}))
    assert "device class gpus.example.com is in no resources.deviceClassMappings" in scene.said()


@pytest.mark.parametrize("gate", [NO_REPLICAS, VALIDATION_FAILED])
def test_a_job_of_no_pods_or_that_its_controller_refuses_is_on_hold(gate: str) -> None:
    scene = Scene().open()
    stage = scene.stage
    stage.turn(stage.submit("big", {"gates": (gate,)}))
    assert "WorkloadPending big OnHold" in stage.decided
    stage.turn(stage.change("big", gates=(gate, "example.com/mine")))
    assert "WorkloadPending big AdmissionGated" in stage.decided


def test_a_queue_with_a_flavor_that_has_a_topology_admits_none_and_says_so() -> None:
    scene = Scene().open()
    stage = scene.stage
    stage.turn(
        flavor("any", uid="rf-any-0", version=scene.version(), spec=FlavorSpec(topology="racks"))
    )
    stage.turn(stage.submit("big", {"cpu": 1}))
    assert "ClusterQueueReadinessChanged cq TopologyNotFound" in stage.decided
    assert "cq is inactive" in scene.said()
