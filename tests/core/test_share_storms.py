"""Under fair sharing an outside change moves one chain at most, and nothing that comes back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.virtual.driving import Cluster as BenchCluster
from bench.virtual.loads import NAMESPACE
from tests.core.cohort import Cluster
from tests.core.test_cycle_rules import arrive, cohort, end, running
from tests.parts.drawn import drawn
from tidegate.contracts import facts
from tidegate.contracts.decisions import PreemptionIntended
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.preemption.trial import may_move_shares

SEEDS = st.integers(min_value=0, max_value=10**9)
STEPS = 60


def test_a_difference_of_shares_smaller_than_what_moves_moves_nobody() -> None:
    cluster = cohort(fair=True, queues=3)
    for name, queue, cpu in (("large", 0, 20), ("lent", 0, 12), ("own", 1, 20)):
        arrive(cluster, name, queue, cpu)
        assert cluster.decide(100)
    arrive(cluster, "waits", 1, 10)
    assert cluster.decide(100)
    assert running(cluster) == {"large", "lent", "own"}
    assert cluster.tally.preemptions == 0


def lent() -> BenchCluster:
    """Return three ClusterQueues of which the first has borrowed twice what the last lends."""
    cluster = cohort(fair=True, queues=3)
    for name, queue, cpu in (
        ("large", 0, 20),
        ("lent-1", 0, 10),
        ("lent-2", 0, 10),
        ("own", 1, 20),
    ):
        arrive(cluster, name, queue, cpu)
        assert cluster.decide(100)
    return cluster


def test_a_greater_difference_moves_what_is_borrowed() -> None:
    cluster = lent()
    arrive(cluster, "waits", 1, 10)
    assert cluster.decide(100)
    assert running(cluster) == {"large", "lent-1", "own", "waits"}
    end(cluster, "large")
    assert running(cluster) == {"lent-1", "lent-2", "own", "waits"}
    assert cluster.tally.preemptions == 1


@pytest.mark.parametrize(("ended", "may"), [("own", False), ("large", True)])
def test_who_was_displaced_displaces_nobody_for_shares_before_its_own_queue_changed(
    ended: str,
    may: bool,  # noqa: FBT001 - a case
) -> None:
    cluster = lent()
    arrive(cluster, "waits", 1, 10)
    assert cluster.decide(100)
    state, key = cluster.state, f"{NAMESPACE}/{ended}"
    displaced = state.workloads[f"{NAMESPACE}/lent-2"]
    cq = state.forest.cluster_queues[displaced.cluster_queue]
    assert not may_move_shares(state, cq, displaced)
    gone = facts.WorkloadFinished(at_us=cluster.now_us, workload=key, uid=ended)
    cluster.fold([gone])
    assert may_move_shares(state, cq, displaced) == may
    again = decode(encode(state))
    cq = again.forest.cluster_queues[displaced.cluster_queue]
    assert may_move_shares(again, cq, again.workloads[displaced.key]) == may


@drawn(15)
@given(SEEDS)
def test_there_are_no_more_moves_for_shares_than_changes_from_outside(seed: int) -> None:
    cluster = Cluster(seed, fair=True)
    for _ in range(STEPS):
        cluster.step()
        moves = [
            one
            for one in cluster.told
            if isinstance(one, PreemptionIntended)
            and any(victim.reason == "InCohortFairSharing" for victim in one.victims)
        ]
        assert len(moves) <= cluster.changes
