"""A workload is woken by all that may give it what it lacks, and not only by quota that is free."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from bench.virtual.driving import Cluster
from bench.virtual.loads import RECLAIMING
from tests.core.test_cycle_rules import arrive, cohort, end, reprioritize, running
from tidegate.contracts import facts
from tidegate.model.quota import WEIGHT_ONE, CohortSpec, Preemption


def start(cluster: Cluster, *jobs: tuple[str, int, int]) -> None:
    """Let jobs start one after the other: name, index of the ClusterQueue, CPU."""
    for name, queue, cpu in jobs:
        arrive(cluster, name, queue, cpu)
        assert cluster.decide(100)
        assert name in running(cluster)


def define(
    cluster: Cluster,
    queue: int,
    *,
    weight: int = 1,
    below: str | None = None,
    preemption: Preemption = RECLAIMING,
) -> None:
    """Define a ClusterQueue again: with a weight, below another cohort, or with other rules."""
    cq = cluster.state.forest.cluster_queues[f"queue-{queue}"]
    below = below or cq.spec.cohort
    spec = replace(cq.spec, weight=weight * WEIGHT_ONE, cohort=below, preemption=preemption)
    cluster.fold([facts.ClusterQueueDefined(at_us=cluster.now_us, name=cq.name, spec=spec)])


def test_it_is_woken_once_another_queue_borrows_so_much_that_it_may_take_some() -> None:
    cluster = cohort(fair=True, queues=4)
    define(cluster, 1, weight=4)
    start(cluster, ("large", 0, 20), ("lent", 0, 7), ("own", 1, 20), ("c", 2, 20), ("d", 3, 8))
    arrive(cluster, "waits", 1, 6)
    assert cluster.decide(100)
    arrive(cluster, "more", 0, 5, priority=1)  # so that "lent" is the first to leave
    assert cluster.decide(100)
    assert running(cluster) == {"large", "more", "own", "c", "d", "waits"}


def test_a_smaller_one_that_came_later_is_woken_by_less() -> None:
    cluster = cohort(fair=True, queues=4)
    define(cluster, 1, weight=2)
    start(cluster, ("large", 0, 20), ("lent", 0, 4), ("own", 1, 20), ("c", 2, 20), ("d", 3, 10))
    arrive(cluster, "waits", 1, 10)
    assert cluster.decide(100)
    start(cluster, ("e", 3, 1))  # a change after which it is known what the first one lacks
    arrive(cluster, "smaller", 1, 6)
    assert cluster.decide(100)
    arrive(cluster, "more", 0, 3, priority=1)
    assert cluster.decide(100)
    assert running(cluster) == {"large", "more", "own", "c", "d", "e", "smaller"}


@pytest.mark.parametrize(("freed", "starts"), [(4, False), (5, True)])
def test_what_its_own_cohort_may_give_counts_beside_what_is_freed_elsewhere(
    freed: int,
    starts: bool,  # noqa: FBT001 - a case
) -> None:
    cluster = cohort(fair=True, queues=4)
    cluster.fold(
        facts.CohortDefined(at_us=0, name=name, spec=CohortSpec(parent="root"))
        for name in ("left", "right")
    )
    for queue in range(4):
        define(cluster, queue, weight=1 if queue else 4, below="left" if queue < 2 else "right")
    start(cluster, ("own", 0, 20), ("lends", 1, 20), ("lent-1", 1, 8), ("lent-2", 1, 8))
    start(cluster, ("c", 2, 19 - freed), ("ends", 2, freed), ("d", 3, 5))
    arrive(cluster, "waits", 0, 13)
    assert cluster.decide(100)
    assert "waits" not in running(cluster)
    end(cluster, "ends")
    assert ("waits" in running(cluster)) == starts


def test_a_displaced_one_is_woken_once_it_may_preempt_elsewhere_again() -> None:
    cluster = cohort(queues=4)
    define(cluster, 0, preemption=replace(RECLAIMING, borrow_within_cohort="LowerPriority"))
    start(cluster, ("b", 1, 4), ("d", 3, 16))
    for name, queue, cpu, priority in (
        ("own", 0, 20, 9),
        ("c", 2, 20, 9),
        ("first", 0, 2, 6),
        ("second", 0, 8, 5),
        ("small", 2, 2, 7),
        ("falls", 2, 8, 7),
        ("reclaims", 1, 10, 0),
    ):
        arrive(cluster, name, queue, cpu, priority=priority)
        assert cluster.decide(100)
    stay = {"b", "d", "own", "c", "reclaims"}
    assert running(cluster) == stay | {"small", "falls"}
    reprioritize(cluster, "small", 0)
    assert running(cluster) == stay | {"first", "falls"}
    reprioritize(cluster, "falls", 0)
    assert running(cluster) == stay | {"first", "second"}
