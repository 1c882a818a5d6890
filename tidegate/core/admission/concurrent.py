"""Variants of one workload that are tried at the same time, each on flavors of its own.

The first that fits is admitted. A variant on a flavor that the ClusterQueue lists earlier replaces
it once it fits, if the queue's policy allows that; the others wait.

Source: behaviour.md 14; conformance/concurrent-admission.
"""

from __future__ import annotations

from tidegate.contracts.decisions import (
    PreemptionAbandoned,
    Victim,
)
from tidegate.contracts.phases import HOLDING
from tidegate.core.admission.admit import podset_assignments, preemption_intent
from tidegate.core.admission.orders import eviction_decisions
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.nominate import Nominee, Proposal
from tidegate.core.queueing.siblings import GATE, MIGRATION
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload, decision_fields
from tidegate.model.gates import gate_enabled
from tidegate.model.podset import PodSetAssignment

_BETTER = "a variant of it holds quota of a flavor that is preferred"
_STAYS = "a variant of it holds quota, and the ClusterQueue does not let it move to this flavor"


def process_variant(context: DecideContext, nominee: Nominee, proposal: Proposal) -> bool:
    """Let a variant wait for the sibling that holds quota, or replace it.

    Returns False if there is no such sibling: then the variant is processed as any workload.
    """
    if must_wait_for_variant(context.state, nominee):
        if nominee.intent is not None and nominee.outcome == "refused":
            _abandon_intent(context, nominee)
        return True
    sibling = sibling_with_quota(context.state, nominee.workload)
    if sibling is None or proposal.assignment.mode != "Fit":
        return False
    _migrate_variant(context, nominee, proposal, sibling)
    return True


def must_wait_for_variant(state: State, nominee: Nominee) -> bool:
    """Tell whether a variant waits because a sibling holds quota; set its reason if so."""
    workload, cq = nominee.workload, nominee.cq
    sibling = sibling_with_quota(state, workload)
    if sibling is None:
        return False
    if sibling.phase == "evicting":
        nominee.outcome, nominee.reason = "deferred", "WaitingForPreemptedWorkloads"
        return True
    positions = _flavor_positions(cq)
    own = min((positions.get(name, 0) for name in workload.allowed_flavors or positions), default=0)
    last = positions.get(cq.spec.last_acceptable_flavor, len(positions))
    if _variant_position(positions, sibling) <= own:
        details = _BETTER
    elif own > last or not cq.spec.migrates:
        details = _STAYS
    else:
        return False
    nominee.outcome, nominee.reason, nominee.details = "refused", "PendingEvaluation", details
    return True


def sibling_with_quota(state: State, workload: Workload) -> Workload | None:
    """Return the sibling that holds quota, preferably one that is not evicted; None: none does."""
    if not gate_enabled(state.policy, GATE):
        return None
    if workload.parent:
        parent = state.workloads.get(workload.parent)
        return None if parent is None else state.workloads.get(parent.acting)
    workloads = [
        other
        for other in state.workloads.values()
        if other.variant_of == workload.variant_of
        and other is not workload
        and other.phase in HOLDING
    ]
    return min(workloads, key=lambda other: (other.phase == "evicting", other.key), default=None)


def _flavor_positions(cq: ClusterQueueState) -> dict[str, int]:
    flavors = (flavor.flavor for group in cq.spec.groups for flavor in group.flavors)
    return {name: place for place, name in enumerate(dict.fromkeys(flavors))}


def _variant_position(positions: dict[str, int], sibling: Workload) -> int:
    flavors_taken = {name for podset in sibling.assignment for name in podset.flavors.values()}
    return max((positions.get(name, 0) for name in flavors_taken), default=0)


def _abandon_intent(context: DecideContext, nominee: Nominee) -> None:
    """End the intent of a variant that must wait for its sibling."""
    context.record(
        PreemptionAbandoned(
            **decision_fields(context.state, nominee.workload), reason="a variant of it holds quota"
        )
    )


def _migrate_variant(
    context: DecideContext, nominee: Nominee, proposal: Proposal, sibling: Workload
) -> None:
    state, workload = context.state, nominee.workload
    victim = Victim(
        workload=sibling.key,
        uid=sibling.uid,
        cluster_queue=sibling.cluster_queue,
        reason=MIGRATION,
    )
    intended = preemption_intent(
        state, workload, proposal, (victim,), _assignment_of(nominee, proposal)
    )
    message = f"Its variant {workload.key} moves to a flavor that is preferred."
    charges = list(proposal.assignment.usage.items())
    context.reserve(nominee.cq.tree, nominee.cq.node, charges)
    for event in (intended, *eviction_decisions(state, sibling, MIGRATION, message=message)):
        context.record(event)
    nominee.outcome, nominee.reason = "preempting", "WaitingForPreemptedWorkloads"


def _assignment_of(nominee: Nominee, proposal: Proposal) -> tuple[PodSetAssignment, ...]:
    """Return the assignment of a variant: the proposal's, or the intent's if that has none."""
    if proposal.assignment.podsets or nominee.intent is None:
        return podset_assignments(proposal.assignment)
    return nominee.intent.assignment
