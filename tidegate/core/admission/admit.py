"""Reserves quota for a workload, and starts it or preempts others for it.

It starts at once if no admission check is required. Victims are evicted, and the quota that they
free is reserved for their preemptor.

Source: behaviour.md 6.6; docs/adr/0005.
"""

from __future__ import annotations

from typing import get_args

from tidegate.contracts.decisions import (
    PreemptionIntended,
    PreemptionReason,
    QuotaReleased,
    QuotaReserved,
    Victim,
    WorkloadPreempted,
)
from tidegate.contracts.phases import HOLDING, SLICE_REPLACED
from tidegate.core.admission.orders import eviction_event, start_decisions, stop_orders
from tidegate.core.flavors.choices import Assignment
from tidegate.core.members.placement import cluster_for_assignment
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.nominate import Nominee, Proposal
from tidegate.core.preemption.candidates import lost_run_time_us
from tidegate.core.preemption.trial import Target
from tidegate.core.queueing.admission_checks import required_checks
from tidegate.core.quota.tree import Node
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload, decision_fields
from tidegate.model.podset import PodSetAssignment

_WHY: dict[PreemptionReason, str] = {
    "InClusterQueue": "it has priority in the ClusterQueue",
    "InCohortReclamation": "its ClusterQueue takes back what the cohort had borrowed",
    "InCohortFairSharing": "the cohort shares fairly",
    "InCohortReclaimWhileBorrowing": "it has priority in the cohort while both borrow",
    "FlavorMigration": "it is a variant of it that would run on a better flavor",
}
assert set(_WHY) == set(get_args(PreemptionReason)), "each reason has a phrase, none is missing"


def admit(
    context: DecideContext, cq: ClusterQueueState, workload: Workload, assignment: Assignment
) -> None:
    """Reserve a nominated assignment for a workload; start it if no check is required."""
    reserve_quota(context, cq, workload, podset_assignments(assignment), assignment.borrows)


def reserve_quota(
    context: DecideContext,
    cq: ClusterQueueState,
    workload: Workload,
    assignment: tuple[PodSetAssignment, ...],
    borrows: int,
) -> None:
    """Reserve an assignment for a workload; start it if no check is required.

    A slice that the workload replaces releases its quota before.
    """
    state = context.state
    older = state.workloads.get(workload.replaces) if workload.replaces else None
    if older is not None and older.phase in HOLDING:
        context.record(QuotaReleased(**decision_fields(state, older), reason=SLICE_REPLACED))
    checks = tuple(required_checks(state, cq.name, assignment))
    context.record(
        QuotaReserved(
            **decision_fields(state, workload),
            assignment=assignment,
            borrows=borrows,
            checks=checks,
            cycle=context.recorded_cycle,
            cluster=cluster_for_assignment(state, workload, assignment) if workload.body else "",
        )
    )
    late = any(podset.delayed_topology for podset in assignment)
    if not late and not checks:
        start_workload(context, workload)


def start_workload(context: DecideContext, workload: Workload) -> None:
    """Admit a workload that has reserved quota, and order its job to start."""
    for decision in start_decisions(context.state, workload):
        context.record(decision)


def podset_assignments(assignment: Assignment) -> tuple[PodSetAssignment, ...]:
    """Return an assignment in the form of the ledger."""
    return tuple(
        PodSetAssignment(
            name=podset.name,
            count=podset.count,
            flavors={resource: choice.flavor for resource, choice in podset.choices.items()},
            usage={
                resource: podset.requests[resource]
                for resource in podset.choices
                if resource in podset.requests
            },
            topology=podset.placed,
            delayed_topology="Pending" if podset.delayed else "",
        )
        for podset in assignment.podsets
    )


def preempt_targets(context: DecideContext, nominee: Nominee, proposal: Proposal) -> bool:
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
        preemption_intent(
            state,
            workload,
            proposal,
            victims,
            podset_assignments(proposal.assignment),
            cycle=context.recorded_cycle,
        )
    )
    for target in targets:
        if target.workload.phase != "evicting":
            _preempt_victim(context, cq, workload, target)
    return True


def preemption_intent(  # noqa: PLR0913 - the preemptor, its assignment, its victims
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
        **decision_fields(state, workload),
        victims=victims,
        amounts=amounts,
        assignment=assignment,
        cycle=cycle,
    )


def _preempt_victim(
    context: DecideContext, cq: ClusterQueueState, preemptor: Workload, target: Target
) -> None:
    state, victim = context.state, target.workload
    other = state.forest.cluster_queues[target.cluster_queue]
    message = (
        f"Preempted for {preemptor.key} (uid {preemptor.uid}), because {_WHY[target.reason]}; "
        f"preemptor path: {cohort_path(cq.node)}; preemptee path: {cohort_path(other.node)}"
    )
    context.record(
        WorkloadPreempted(
            **decision_fields(state, victim),
            by=preemptor.key,
            by_uid=preemptor.uid,
            by_cluster_queue=cq.name,
            reason=target.reason,
            message=message,
            lost_us=lost_run_time_us(state, victim) if state.scan.least_loss_first else 0,
        )
    )
    context.record(eviction_event(state, victim, "Preempted", message=message))
    for order in stop_orders(state, victim, reason="Preempted", message=message):
        context.record(order)


def cohort_path(node: Node) -> str:
    """Return the path from the root to a node: ``/all/team/queue``."""
    names, at = [node.name], node
    while at.parent is not None:
        at = at.parent
        names.append(at.name)
    return "/" + "/".join(reversed(names))
