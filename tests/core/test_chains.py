"""What follows one change from outside stays short: docs/adr/0021."""

from __future__ import annotations

from itertools import islice

import pytest
from msgspec.structs import replace

from bench.real.arrivals import Job, jobs
from bench.real.cluster import Cluster as RealCluster
from bench.real.objects import beginning as real_beginning
from bench.real.steps import arrivals_a_second
from tests.core.test_cycle_rules import arrive, cohort, running
from tidegate.contracts.decisions import (
    DecisionEvent,
    PreemptionIntended,
    QuotaReserved,
    WorkloadPreempted,
)

QUEUES, QUEUED, PAUSE_US = 5, 60, 20_000_000


@pytest.mark.parametrize(("priority", "leaves"), [(0, "lent"), (-1, "straddles")])
def test_of_equals_the_one_that_leaves_its_queue_its_own_quota_leaves_first(
    priority: int, leaves: str
) -> None:
    cluster = cohort(queues=3)
    arrive(cluster, "own-1", 1, 15)
    arrive(cluster, "own-2", 2, 20)
    arrive(cluster, "lent", 2, 10)
    arrive(cluster, "straddles", 1, 10, priority=priority)
    assert cluster.decide(100)
    assert len(running(cluster)) == 4
    arrive(cluster, "owner", 0, 10)
    assert cluster.decide(100)
    assert running(cluster) == {"owner", "own-1", "own-2", "lent", "straddles"} - {leaves}


def test_where_everybody_leaves_a_gap_nominal_quota_is_taken_back_all_the_same() -> None:
    cluster = cohort(queues=2)
    arrive(cluster, "own", 1, 15)
    arrive(cluster, "straddles", 1, 25)
    assert cluster.decide(100)
    arrive(cluster, "owner", 0, 20)
    assert cluster.decide(100)
    assert running(cluster) == {"owner", "own"}


class Observed(RealCluster):
    """A cluster of two levels and three resources that keeps the borrowers at each change."""

    def __init__(self) -> None:
        super().__init__()
        self.displaced: set[str] = set()
        self.abroad: list[list[str]] = []

    def step(self, arriving: Job | None = None) -> None:
        """Let one change happen, and decide."""
        self.abroad.append([])
        super().step(arriving)

    def _apply_order(self, decision: DecisionEvent) -> None:
        match decision:
            case WorkloadPreempted():
                self.displaced.add(decision.workload)
            case QuotaReserved():
                self.displaced.discard(decision.workload)
            case PreemptionIntended() if self.abroad and decision.workload in self.displaced:
                queues = {victim.cluster_queue for victim in decision.victims}
                if queues - {decision.cluster_queue}:
                    self.abroad[-1].append(decision.workload)
            case _:
                pass
        super()._apply_order(decision)


@pytest.mark.parametrize("fair", [False, True])
def test_one_change_lets_one_displaced_workload_preempt_abroad(fair: bool) -> None:  # noqa: FBT001
    cluster = Observed()
    cluster.fold(real_beginning(QUEUES, "tidegate", fair=fair))
    cluster.decide()
    coming = jobs("heavy", QUEUES, arrivals_a_second(QUEUES), 0)
    for number, job in enumerate(islice(coming, 2 * QUEUED)):
        cluster.run_until(cluster.now_us + (PAUSE_US if number >= QUEUED else 0))
        asked = replace(job.asked, at_us=cluster.now_us, created_us=cluster.now_us)
        cluster.step(Job(asked, job.run_us, job.cpu))
    assert any(cluster.abroad)
    assert all(len(movers) <= 1 for movers in cluster.abroad)
