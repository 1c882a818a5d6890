"""Sums tell of a search for victims as much as the search would find, where that is known."""

from __future__ import annotations

import pytest

from bench.virtual.driving import Cluster
from bench.virtual.loads import NAMESPACE
from tests.core.test_cycle_rules import arrive, cohort, running
from tidegate.core.preemption.bounds import may_fit_after_evictions, preemptor_of


def borrowed(small: int) -> Cluster:
    """Return a full cohort of which one ClusterQueue borrowed 20 CPU; ``small``: a priority."""
    cluster = cohort(fair=True, queues=4)
    for name, queue, cpu, priority in (
        ("large", 0, 30, 0),
        ("small", 0, 10, small),
        ("own-1", 1, 20, 9),
        ("own-2", 2, 20, 9),
    ):
        arrive(cluster, name, queue, cpu, priority=priority)
        assert cluster.decide(100)
    arrive(cluster, "waits", 1, 5)
    return cluster


def may_start(cluster: Cluster) -> bool:
    """Tell whether evictions might give the waiting workload what it requests."""
    state = cluster.state
    workload = state.workloads[f"{NAMESPACE}/waits"]
    cq = state.forest.cluster_queues[workload.cluster_queue]
    (cell,) = cq.node.cells.values()
    cq.tree.in_cycle = True  # without intents and leaving workloads a cycle shows it as it is
    may_start = may_fit_after_evictions(preemptor_of(state, cq, workload, (cell.fr,)), cell, 5_000)
    cq.tree.in_cycle = False
    return may_start


@pytest.mark.parametrize(("small", "starts"), [(0, True), (9, False)])
def test_no_workload_counts_behind_a_lower_priority_that_would_leave_a_gap(
    small: int,
    starts: bool,  # noqa: FBT001
) -> None:
    cluster = borrowed(small)
    assert may_start(cluster) == starts
    assert cluster.decide(100)
    assert ("waits" in running(cluster)) == starts
    assert cluster.tally.preemptions == int(starts)
