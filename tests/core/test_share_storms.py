"""Under fair sharing an outside change moves one chain at most, and nothing that comes back."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bench.real.arrivals import Job, jobs
from bench.real.cluster import Cluster as RealCluster
from bench.real.objects import beginning as real_beginning
from bench.real.steps import arrivals_a_second
from bench.virtual.driving import Cluster as BenchCluster
from bench.virtual.loads import NAMESPACE
from tests.core.cohort import Cluster
from tests.core.test_cycle_rules import arrive, cohort, end, running
from tests.parts.drawn import drawn
from tidegate.contracts import facts
from tidegate.contracts.decisions import (
    DecisionEvent,
    PreemptionIntended,
    QuotaReserved,
    WorkloadPreempted,
)
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.preemption.trial import may_preempt_for_shares

SEEDS = st.integers(min_value=0, max_value=10**9)
STEPS = 60
QUEUES, QUEUED, PAUSE_US = 5, 84, 20_000_000


def test_a_difference_of_shares_smaller_than_what_moves_moves_no_workload() -> None:
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
def test_a_displaced_workload_displaces_none_for_shares_before_its_own_queue_changed(
    ended: str,
    may: bool,  # noqa: FBT001 - a case
) -> None:
    cluster = lent()
    arrive(cluster, "waits", 1, 10)
    assert cluster.decide(100)
    state, key = cluster.state, f"{NAMESPACE}/{ended}"
    displaced = state.workloads[f"{NAMESPACE}/lent-2"]
    cq = state.forest.cluster_queues[displaced.cluster_queue]
    assert not may_preempt_for_shares(state, cq, displaced)
    gone = facts.WorkloadFinished(at_us=cluster.now_us, workload=key, uid=ended)
    cluster.fold([gone])
    assert may_preempt_for_shares(state, cq, displaced) == may
    again = decode(encode(state))
    cq = again.forest.cluster_queues[displaced.cluster_queue]
    assert may_preempt_for_shares(again, cq, again.workloads[displaced.key]) == may


@drawn(6)
@given(SEEDS)
def test_there_are_no_more_moves_for_shares_than_changes_from_outside(seed: int) -> None:
    cluster = Cluster(seed, fair=True)
    for _ in range(STEPS):
        cluster.step()
        moves = [
            decision
            for decision in cluster.decided
            if isinstance(decision, PreemptionIntended) and _for_shares(decision)
        ]
        assert len(moves) <= cluster.changes


class Observed(RealCluster):
    """A cluster of two levels and three resources that keeps the preemptors at each change."""

    def __init__(self) -> None:
        super().__init__()
        self.decided: list[DecisionEvent] = []
        self.displaced: set[str] = set()
        self.moves: list[list[tuple[str, str]]] = []

    def step(self, arriving: Job | None = None) -> None:
        """Let one change happen, and decide."""
        super().step(arriving)
        self.moves.append(_movers(self.decided, self.displaced))
        self.decided.clear()

    def _apply_order(self, decision: DecisionEvent) -> None:
        self.decided.append(decision)
        super()._apply_order(decision)


@pytest.mark.parametrize("seed", [0, 6, 9])
def test_one_change_moves_each_fresh_workload_once_and_one_displaced_of_each_queue(
    seed: int,
) -> None:
    cluster = Observed()
    cluster.fold(real_beginning(QUEUES, "tidegate", fair=True))
    cluster.decide()
    coming = jobs("heavy", QUEUES, arrivals_a_second(QUEUES), seed)
    for number, job in enumerate(islice(coming, 2 * QUEUED)):
        cluster.run_until(cluster.now_us + (PAUSE_US if number >= QUEUED else 0))
        asked = replace(job.asked, at_us=cluster.now_us, created_us=cluster.now_us)
        cluster.step(Job(asked, job.run_us, job.cpu))
    assert any(cluster.moves)
    for movers in cluster.moves:
        assert len(movers) == len(dict(movers))
        queues = [queue for _, queue in movers if queue]
        assert len(queues) == len(set(queues))


def _movers(decisions: list[DecisionEvent], displaced: set[str]) -> list[tuple[str, str]]:
    """Return what displaced others for shares, with its queue if it had been displaced itself."""
    movers = list[tuple[str, str]]()
    for decision in decisions:
        match decision:
            case WorkloadPreempted():
                displaced.add(decision.workload)
            case QuotaReserved():
                displaced.discard(decision.workload)
            case PreemptionIntended() if _for_shares(decision):
                queue = decision.cluster_queue if decision.workload in displaced else ""
                movers.append((decision.workload, queue))
            case _:
                pass
    return movers


def _for_shares(intended: PreemptionIntended) -> bool:
    return any(victim.reason == "InCohortFairSharing" for victim in intended.victims)
