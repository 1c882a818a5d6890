"""What runs in a deleted ClusterQueue, or on a deleted ResourceFlavor, stays charged."""

from __future__ import annotations

import pytest

from tests.core.telling import flavor, gone
from tests.replay.world import World
from tidegate.contracts import observations
from tidegate.contracts.codec import type_name
from tidegate.contracts.decisions import DecisionEvent, WorkloadPending
from tidegate.core.folding import snapshot
from tidegate.core.quota.forest import forest
from tidegate.core.quota.tree import available
from tidegate.model.ids import FlavorResource

QUEUES, FLAVORS = "clusterqueues.kueue.x-k8s.io", "resourceflavors.kueue.x-k8s.io"
CPU = FlavorResource("f", "cpu")


@pytest.fixture
def world() -> World:
    """Return a world in which 7 CPUs run in queue a, which has 4 and borrows 3 of b's 4."""
    world = World().open()
    world.turn(world.submit("a", 7, 0))
    world.all_obey()
    assert left(world) == 1_000
    return world


def left(world: World) -> int:
    """Return what queue b may still take, in milli-CPU."""
    return available(forest(world.bus.state).cluster_queues["b"].node, CPU)


def removed(world: World, name: str = "a") -> observations.ObjectGone:
    world.version += 1
    return gone(name, world.version, QUEUES, uid=f"cq-{name}")


def names(decided: list[DecisionEvent]) -> list[str]:
    return [type_name(event) for event in decided]


def only(world: World) -> str:
    [name] = world.jobs
    return name


def test_what_runs_in_a_queue_that_is_gone_is_charged_until_it_ends(world: World) -> None:
    world.turn(removed(world))
    assert left(world) == 1_000
    decided = world.turn(world.finish(only(world)))
    assert "ClusterQueueReleased" in names(decided)
    assert (left(world), world.bus.state.objects.removed_queues) == (4_000, {})


def test_no_workload_is_admitted_to_a_queue_that_is_gone(world: World) -> None:
    world.turn(removed(world))
    decided = world.turn(world.submit("a", 1, 0))
    [pending] = [decision for decision in decided if isinstance(decision, WorkloadPending)]
    assert pending.reason == "Misconfigured"
    assert "there is no ClusterQueue a" in pending.message


def test_its_siblings_wait_until_what_it_borrowed_has_stopped(world: World) -> None:
    borrower = only(world)
    world.turn(removed(world), world.submit("b", 2, 0))  # on its own quota of flavor g
    world.all_obey()
    world.turn(world.submit("b", 4, 0))
    assert world.turn(world.wait(60)) == []
    assert left(world) == 1_000
    decided = world.turn(world.finish(borrower))
    assert names(decided)[0] == "ClusterQueueReleased"
    assert {"WorkloadAdmitted", "StartOrdered"} <= set(names(decided))
    assert left(world) == 0


def test_a_queue_that_is_made_anew_is_charged_for_what_ran_in_the_older_one(world: World) -> None:
    world.turn(removed(world))
    world.turn(seen_again(world))
    assert left(world) == 1_000
    decided = world.turn(world.finish(only(world)))
    assert "ClusterQueueReleased" not in names(decided)
    assert left(world) == 8_000


def seen_again(world: World) -> observations.Observation:
    observed = world.queue("a")
    assert isinstance(observed, observations.ClusterQueueObserved)
    return observations.ClusterQueueObserved(
        name="a", uid="another", version=observed.version, session="a", spec=observed.spec
    )


def test_an_unused_queue_is_gone_at_once() -> None:
    world = World().open()
    decided = world.turn(removed(world))
    assert "ClusterQueueReleased" not in names(decided)
    assert (left(world), world.bus.state.objects.removed_queues) == (4_000, {})


def test_it_survives_a_snapshot(world: World) -> None:
    world.turn(removed(world))
    kept = snapshot.encode(world.bus.state)
    world.bus.state = snapshot.decode(kept)
    assert (left(world), snapshot.encode(world.bus.state)) == (1_000, kept)
    assert "ClusterQueueReleased" in names(world.turn(world.finish(only(world))))


def test_what_runs_on_a_flavor_that_is_gone_is_charged_until_it_ends(world: World) -> None:
    world.version += 1
    decided = world.turn(gone("f", world.version, FLAVORS))
    assert "ClusterQueueReadinessChanged" in names(decided)
    assert left(world) == 1_000
    world.turn(world.submit("b", 1, 0))
    assert (
        len([workload for workload in world.bus.state.workloads.values() if workload.charges]) == 1
    )
    world.turn(world.finish(min(world.jobs)))
    assert left(world) == 8_000
    world.turn(flavor("f", version=world.version + 1, uid="another"))
    assert left(world) == 7_000
