"""Whether a head can act when its cycle begins, and what it does in its turn, in the default mode.

``can_act`` alone decides the former: a workload that can be admitted or preempt becomes its
ClusterQueue's head and is processed in the cycle's order; every other gets the reason set here. An
entry that no longer fits in its turn, because an earlier entry took its quota or nodes, is
nominated again in the next cycle and competes with all others.

Source: behaviour.md 3.4; docs/adr/0005.
"""

from __future__ import annotations

from tidegate.core.admission.admit import admit, preempt_targets
from tidegate.core.admission.concurrent import (
    must_wait_for_variant,
    process_variant,
    sibling_with_quota,
)
from tidegate.core.admission.intents import fulfil_intent
from tidegate.core.folding.workload_deadlines import first_unready_workload, is_admission_blocked
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.nominate import Nominee, Proposal, with_podsets
from tidegate.core.preemption.trial import is_displaced
from tidegate.core.queueing.siblings import GATE, PREEMPTION_GATE
from tidegate.core.quota.tree import add_usage, fits, remove_usage
from tidegate.core.state.state import State, Workload
from tidegate.model.gates import gate_enabled


def can_act(context: DecideContext, nominee: Nominee) -> bool:
    """Tell whether a head may be admitted or preempt now; set its reason if not."""
    state, proposal, is_variant = context.state, nominee.proposal, nominee.workload.variant_of
    if proposal is None:
        return False
    if not proposal.is_feasible:
        set_no_fit_reason(nominee, proposal)
        return False
    if is_variant and must_wait_for_variant(state, nominee):
        return False
    if proposal.targets:
        return not is_gated(context, nominee)
    if must_wait_for_pods_ready(state, nominee):
        return False
    replaces_variant = is_variant and sibling_with_quota(state, nominee.workload) is not None
    if not replaces_variant and not _fits_now(context, nominee, proposal):
        nominee.outcome, nominee.reason = "deferred", "WaitingForPreemptedWorkloads"
        return False
    return True


def must_wait_for_pods_ready(state: State, nominee: Nominee) -> bool:
    """Tell whether other workloads' pods must be ready first; name one of them if that is new."""
    if not is_admission_blocked(state):
        return False
    nominee.outcome, nominee.reason = "skipped", "WaitingForPodsReady"
    pending = nominee.workload.pending_status
    if pending is None or pending.reason != nominee.reason:
        nominee.details = _blocking_details(state, first_unready_workload(state))
    return True


def _blocking_details(state: State, before: Workload | None) -> str:
    assert before is not None, "admission is blocked, but no workload blocks it"
    watched = before.resource in (state.expected or (before.resource,))
    return f"those of {before.key}" + ("" if watched else ", whose kind is not watched")


def set_no_fit_reason(nominee: Nominee, proposal: Proposal) -> None:
    """Set the reason of a head that neither fits nor has preemption candidates."""
    if proposal.assignment.mode == "NoFit":
        nominee.outcome = "no fit"
        nominee.reason = proposal.assignment.reason or "NoMatchingFlavor"
    else:
        nominee.outcome, nominee.reason = "no candidates", "WaitingForQuota"


def is_gated(context: DecideContext, nominee: Nominee) -> bool:
    """Tell whether a head's preemption gate is closed; set its reason if so.

    Either of two feature gates makes those of ``spec.preemptionGates`` count, as in Kueue.
    """
    workload = nominee.workload
    closed = bool(workload.parent) and PREEMPTION_GATE in workload.preemption_gates
    policy = context.state.policy
    counts = gate_enabled(policy, "MultiKueueOrchestratedPreemption") or gate_enabled(policy, GATE)
    if not closed and not (counts and workload.preemption_gates):
        return False
    nominee.outcome, nominee.reason = "gated", "AdmissionGated"
    nominee.details = "its preemption gate is closed"
    return True


def process_entry(context: DecideContext, nominee: Nominee) -> None:
    """Admit an entry or let it preempt, if no earlier entry took its quota or nodes."""
    proposal = nominee.proposal
    is_variant = nominee.workload.variant_of
    if proposal is None or (is_variant and process_variant(context, nominee, proposal)):
        return
    starts = nominee.intent is not None or not proposal.targets
    if starts and is_admission_blocked(context.state):
        return
    if nominee.intent is not None:
        if fulfil_intent(context, nominee):
            _mark_admitted(nominee)
        return
    if not proposal.targets and not _may_start(context, nominee, proposal):
        return
    late = has_overlapping_targets(context, nominee, proposal) or _lost_preemption_right(
        context, nominee, proposal
    )
    if not late and fits_after_preemption(context, nominee, proposal):
        admit_or_preempt(context, nominee, proposal)


def _may_start(context: DecideContext, nominee: Nominee, proposal: Proposal) -> bool:
    """Tell whether an entry without targets fits beside all charges and need not yield."""
    return not _yields_to_owners(nominee) and _fits_now(context, nominee, proposal)


def has_overlapping_targets(context: DecideContext, nominee: Nominee, proposal: Proposal) -> bool:
    """Tell whether one of an entry's targets was preempted earlier in this cycle.

    The slice that it replaces is one, too: its job is ordered to stop.
    """
    if nominee.workload.replaces in context.victims:
        return True
    return any(target.workload.key in context.victims for target in proposal.targets)


def _lost_preemption_right(context: DecideContext, nominee: Nominee, proposal: Proposal) -> bool:
    """Tell whether an entry, itself displaced, lost its right to preempt in other ClusterQueues.

    Another displaced workload used that right earlier in this cycle; see docs/adr/0005.
    """
    if all(target.cluster_queue == nominee.cq.name for target in proposal.targets):
        return False
    return is_displaced(context.state, nominee.cq, nominee.workload)


def fits_after_preemption(context: DecideContext, nominee: Nominee, proposal: Proposal) -> bool:
    """Tell whether an entry fits once this cycle's victims and its own have left."""
    cluster_queues = context.state.forest.cluster_queues
    gone = {target.workload.key: target.workload for target in proposal.targets} | context.victims
    topologies = context.state.forest.topologies
    for workload in gone.values():
        remove_usage(cluster_queues[workload.cluster_queue].node, workload.charges)
        topologies.shift(workload.key, -1)
    is_fitting = fits(nominee.cq.node, proposal.assignment.usage.items())
    seats = proposal.assignment.seats
    is_fitting = is_fitting and (not seats or topologies.can_fit(seats))
    for workload in gone.values():
        add_usage(cluster_queues[workload.cluster_queue].node, workload.charges)
        topologies.shift(workload.key, 1)
    return is_fitting


def admit_or_preempt(context: DecideContext, nominee: Nominee, proposal: Proposal) -> None:
    """Admit an entry, or preempt its targets and reserve the quota that they will free."""
    cq = nominee.cq
    if proposal.targets:
        context.reserve(cq.tree, cq.node, list(proposal.assignment.usage.items()))
        context.reserve_seats(proposal.assignment.seats)
        for target in proposal.targets:
            context.victims[target.workload.key] = target.workload
        new = preempt_targets(context, nominee, proposal)
        nominee.outcome = "preempting" if new else "deferred"
        nominee.reason = "WaitingForPreemptedWorkloads"
    else:
        assignment = with_podsets(context.state, nominee, proposal)
        admit(context, nominee.cq, nominee.workload, assignment)
        context.admitted[nominee.workload.key] = nominee.workload
        _mark_admitted(nominee)


def _mark_admitted(nominee: Nominee) -> None:
    nominee.outcome = "admitted"
    if not nominee.borrows:
        nominee.cq.tree.owners_served = True


def _yields_to_owners(nominee: Nominee) -> bool:
    """Tell whether a borrower waits a cycle because a workload within nominal quota started."""
    return nominee.borrows > 0 and nominee.cq.tree.owners_served


def _fits_now(context: DecideContext, nominee: Nominee, proposal: Proposal) -> bool:
    """Return whether an assignment fits beside all charges, those of leaving workloads included."""
    charges = proposal.assignment.usage.items()
    if not context.fits_now(nominee.cq, charges):
        return False
    return context.finds_nodes_now(nominee.workload, proposal.assignment)
