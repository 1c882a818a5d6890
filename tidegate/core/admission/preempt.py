"""Preempts for a workload: evicts victims, and reserves the quota that they free.

Source: behaviour.md 6.6; docs/adr/0005.
"""

from __future__ import annotations

from typing import get_args

from tidegate.contracts.decisions import (
    PreemptionIntended,
    PreemptionReason,
    Victim,
    WorkloadPreempted,
)
from tidegate.core.admission.admit import granted
from tidegate.core.admission.orders import eviction, stop_orders
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.nominate import Nominee
from tidegate.core.nomination.proposals import Proposal
from tidegate.core.preemption.candidates import loses_us
from tidegate.core.preemption.trial import Target
from tidegate.core.quota.tree import Node
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload, about
from tidegate.model.podset import PodSetAssignment

_WHY: dict[PreemptionReason, str] = {
    "InClusterQueue": "it has priority in the ClusterQueue",
    "InCohortReclamation": "its ClusterQueue takes back what the cohort had borrowed",
    "InCohortFairSharing": "the cohort shares fairly",
    "InCohortReclaimWhileBorrowing": "it has priority in the cohort while both borrow",
    "FlavorMigration": "it is a variant of it that would run on a better flavor",
}
assert set(_WHY) == set(get_args(PreemptionReason)), "each reason has a phrase, none is missing"


def preempt(context: DecideContext, nominee: Nominee, proposal: Proposal) -> bool:
    """Record the intent, and evict each victim that is not being evicted already.

    Returns False if there was nothing new: in kueue mode a preemptor is nominated again while its
    victims leave.
    """
    state, workload, cq = context.state, nominee.workload, nominee.cq
    if state.sticky.get(cq.name) == workload.key and all(
        target.workload.phase == "evicting" for target in proposal.targets
    ):
        return False
    targets = [target for target in proposal.targets if target.workload.key != workload.replaces]
    victims = tuple(
        Victim(
            workload=target.workload.key,
            uid=target.workload.uid,
            cluster_queue=target.cluster_queue,
            reason=target.reason,
        )
        for target in targets
    )
    context.record(
        intention(
            state, workload, proposal, victims, granted(proposal.assignment), cycle=context.number
        )
    )
    for target in targets:
        if target.workload.phase != "evicting":
            _evict(context, cq, workload, target)
    return True


def intention(  # noqa: PLR0913 - the preemptor, its assignment, its victims
    state: State,
    workload: Workload,
    proposal: Proposal,
    victims: tuple[Victim, ...],
    assignment: tuple[PodSetAssignment, ...],
    *,
    cycle: int = 0,
) -> PreemptionIntended:
    """Return the decision that reserves, for a workload, the quota that its victims will free."""
    amounts: dict[str, dict[str, int]] = {}
    for fr, units in proposal.assignment.usage.items():
        amounts.setdefault(fr.flavor, {})[fr.resource] = units
    return PreemptionIntended(
        **about(state, workload),
        victims=victims,
        amounts=amounts,
        assignment=assignment,
        cycle=cycle,
    )


def _evict(
    context: DecideContext, cq: ClusterQueueState, preemptor: Workload, target: Target
) -> None:
    state, victim = context.state, target.workload
    other = state.forest.cluster_queues[target.cluster_queue]
    message = (
        f"Preempted for {preemptor.key} (uid {preemptor.uid}), because {_WHY[target.reason]}; "
        f"preemptor path: {path(cq.node)}; preemptee path: {path(other.node)}"
    )
    context.record(
        WorkloadPreempted(
            **about(state, victim),
            by=preemptor.key,
            by_uid=preemptor.uid,
            by_cluster_queue=cq.name,
            reason=target.reason,
            message=message,
            lost_us=loses_us(state, victim) if state.scan.by_loss else 0,
        )
    )
    context.record(eviction(state, victim, "Preempted", message=message))
    for order in stop_orders(state, victim, reason="Preempted", message=message):
        context.record(order)


def path(node: Node) -> str:
    """Return the path from the root to a node: ``/all/team/queue``."""
    names, at = [node.name], node
    while at.parent is not None:
        at = at.parent
        names.append(at.name)
    return "/" + "/".join(reversed(names))
