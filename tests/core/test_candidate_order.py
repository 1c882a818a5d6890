"""The order of candidates is kept between searches, and changes with what it depends on."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from bench.virtual.driving import Cluster
from bench.virtual.loads import NAMESPACE
from tests.core.test_cycle_rules import SECOND_US, arrive, cohort
from tidegate.contracts.decisions import DecisionEvent, QuotaReserved, WorkloadAdmitted
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.preemption import candidates
from tidegate.core.preemption.candidates import candidates_of_queue
from tidegate.core.preemption.sums import node_sums
from tidegate.core.preemption.trial import Trial
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State
from tidegate.model.ids import FlavorResource


def order(cluster: Cluster) -> list[str]:
    """Return the candidates of the second ClusterQueue as a workload of the first takes them."""
    state = cluster.state
    owner = state.workloads[f"{NAMESPACE}/owner"]
    own, other = state.forest.trees[0].cluster_queues
    needs = tuple(own.node.cells)
    trial = Trial(
        state=state, cq=own, workload=owner, needs=needs, amounts=dict.fromkeys(needs, 1_000)
    )
    own.tree.in_cycle = True  # without intents and leaving workloads a cycle shows it as it is
    names = [workload.job.name for _, workload in candidates_of_queue(trial, other)]
    own.tree.in_cycle = False
    return names


def reserved() -> tuple[Cluster, list[WorkloadAdmitted]]:
    """Return two borrowers with quota, the later one last, and their admissions, not folded."""
    cluster, planned = cohort(), cohort()
    for each in (cluster, planned):
        arrive(each, "early", 1, 10)
        arrive(each, "late", 1, 15)
    decisions = list(_at_seconds(decide(planned.state)))
    for decision in decisions:
        if isinstance(decision, QuotaReserved):
            apply(cluster.state, decision)
    arrive(cluster, "owner", 0, 10)
    return cluster, [each for each in decisions if isinstance(each, WorkloadAdmitted)]


def _at_seconds(decisions: list[DecisionEvent]) -> Iterator[QuotaReserved | WorkloadAdmitted]:
    for second, decision in enumerate(decisions, 10):
        if isinstance(decision, QuotaReserved | WorkloadAdmitted):
            yield replace(decision, at_us=second * SECOND_US)


def test_who_was_admitted_later_leaves_first_though_it_had_quota_earlier() -> None:
    cluster, admissions = reserved()
    assert order(cluster) == ["late", "early"]
    by_name = {admission.workload: admission for admission in admissions}
    for second, name in enumerate(("late", "early"), 20):
        admission = replace(by_name[f"{NAMESPACE}/{name}"], at_us=second * SECOND_US)
        apply(cluster.state, admission)
    assert order(cluster) == ["early", "late"]


@pytest.mark.parametrize("fair", [False, True])
def test_the_order_that_was_kept_is_the_one_computed_anew(fair: bool) -> None:  # noqa: FBT001
    sizes, hits = Random("order"), 0
    in_order = candidates._in_order  # noqa: SLF001 - what it keeps cannot be seen from outside

    def compared(
        state: State, cq: ClusterQueueState, needs: tuple[FlavorResource, ...], *, elsewhere: bool
    ) -> list[candidates.Ranked]:
        nonlocal hits
        kept = node_sums(cq.tree, cq.node).in_order.pop((needs, elsewhere), None)
        anew = in_order(state, cq, needs, elsewhere=elsewhere)
        assert kept in (None, anew)
        hits += kept is not None
        return anew

    with patch.object(candidates, "_in_order", compared):
        cluster = cohort(fair=fair, queues=4)
        for number in range(150):
            arrive(cluster, f"job-{number}", sizes.randrange(4), sizes.choice((3, 5, 8, 13)))
            cluster.finish_due()
            assert cluster.decide(100_000)
    assert hits
