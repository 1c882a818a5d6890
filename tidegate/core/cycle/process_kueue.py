"""Admits or preempts for each entry of a cycle in turn, with ``compatibility: kueue``.

Source: behaviour.md 3.4 and its notes 3 and 8.
"""

from __future__ import annotations

from msgspec.structs import replace

from tidegate.core.admission.concurrent import process_variant
from tidegate.core.cycle.process import (
    admit_or_preempt,
    fits_after_preemption,
    has_overlapping_targets,
    is_gated,
    must_wait_for_pods_ready,
    set_no_fit_reason,
)
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.nominate import Nominee, Proposal, propose_again
from tidegate.core.quota.tree import add_usage, remove_usage
from tidegate.core.state.state import Workload
from tidegate.model.gates import gate_enabled
from tidegate.model.ids import FlavorResource


def process_entry(  # noqa: C901 - the steps of behaviour.md 3.4, in their order
    context: DecideContext, nominee: Nominee
) -> None:
    """Admit an entry, let it preempt, or set its reason: the steps of behaviour.md 3.4."""
    proposal = nominee.proposal
    is_variant = nominee.workload.variant_of
    if proposal is None or (is_variant and process_variant(context, nominee, proposal)):
        return
    if proposal.assignment.mode == "Fit" and must_wait_for_pods_ready(context.state, nominee):
        return
    overlap = has_overlapping_targets(context, nominee, proposal)
    if overlap and _may_recompute(context, nominee):
        proposal = _recompute(context, nominee, proposal, list(context.victims.values()))
        if proposal.assignment.mode == "Fit":
            _defer(context, nominee)
            return
        overlap = has_overlapping_targets(context, nominee, proposal)
    elif _lost_its_nodes(context, nominee, proposal):
        proposal = _recompute(context, nominee, proposal, [])  # the victims still run
        overlap = has_overlapping_targets(context, nominee, proposal)
    if not proposal.is_feasible:
        _set_no_fit(context, nominee, proposal)
    elif proposal.targets and is_gated(context, nominee):
        pass  # its reason is set
    elif overlap:
        _skip(nominee, "another workload preempts the same workloads")
    elif not fits_after_preemption(context, nominee, proposal):
        _skip(nominee, "another workload took the quota in this cycle")
    else:
        admit_or_preempt(context, nominee, proposal)


def _may_recompute(context: DecideContext, nominee: Nominee) -> bool:
    """Tell whether an entry whose targets leave already is proposed again without them."""
    if nominee.workload.replaces in context.victims:
        return False  # what is left of its job is not known before the older slice has stopped
    return gate_enabled(context.state.policy, "RecomputeAssignmentUponPreemptionTargetsOverlap")


def _set_no_fit(context: DecideContext, nominee: Nominee, proposal: Proposal) -> None:
    """Set why a head cannot act, and reserve what it waits for against later entries."""
    set_no_fit_reason(nominee, proposal)
    if nominee.outcome == "no candidates" and _reserves_quota(nominee):
        _reserve_lacking_quota(context, nominee, proposal)


def _reserves_quota(nominee: Nominee) -> bool:
    """Tell whether an entry without candidates reserves quota against later entries of its cycle.

    Such a reservation lasts for one cycle: the next one offers the same quota to all entries
    again. In the default mode entries without candidates therefore reserve nothing.
    """
    return nominee.cq.spec.preemption.reclaim_within_cohort != "Any"


def _skip(nominee: Nominee, details: str) -> None:
    nominee.outcome, nominee.reason, nominee.details = "skipped", "WaitingForQuota", details


def _lost_its_nodes(context: DecideContext, nominee: Nominee, proposal: Proposal) -> bool:
    """Tell whether an entry still fits into quota, but an earlier entry took its nodes."""
    if not proposal.assignment.seats or not proposal.is_feasible:
        return False
    if nominee.workload.replaces in context.victims:
        return False  # see ``_may_recompute``
    if not gate_enabled(context.state.policy, "TASRecomputeAssignmentWithinSchedulingCycle"):
        return False
    if fits_after_preemption(context, nominee, proposal):
        return False
    unplaced = replace(proposal, assignment=replace(proposal.assignment, seats=[]))
    return fits_after_preemption(context, nominee, unplaced)


def _recompute(
    context: DecideContext, nominee: Nominee, before: Proposal, gone: list[Workload]
) -> Proposal:
    """Propose the same flavors again as if the workloads in ``gone`` had stopped.

    What this cycle admitted counts, but is no candidate: the cycle's snapshot has only its usage.
    """
    cluster_queues, topologies = (
        context.state.forest.cluster_queues,
        context.state.forest.topologies,
    )
    for workload in gone:
        remove_usage(cluster_queues[workload.cluster_queue].node, workload.charges)
        topologies.shift(workload.key, -1)
    hidden = context.admitted | {workload.key: workload for workload in gone}
    for workload in hidden.values():
        cluster_queues[workload.cluster_queue].holding.pop(workload.key)
    proposal = propose_again(context.state, nominee.cq, nominee.workload, before.assignment)
    for workload in hidden.values():
        cluster_queues[workload.cluster_queue].holding[workload.key] = workload
    for workload in gone:
        add_usage(cluster_queues[workload.cluster_queue].node, workload.charges)
        topologies.shift(workload.key, 1)
    nominee.proposal = proposal
    return proposal


def _defer(context: DecideContext, nominee: Nominee) -> None:
    """Let an entry wait until workloads that other entries preempt have stopped."""
    assert nominee.proposal is not None
    usage = nominee.proposal.assignment.usage
    context.reserve(nominee.cq.tree, nominee.cq.node, usage.items())
    context.reserve_seats(nominee.proposal.assignment.seats)
    nominee.outcome, nominee.reason = "deferred", "WaitingForPreemptedWorkloads"
    nominee.details = "it fits once workloads that others preempt have stopped"


def _reserve_lacking_quota(context: DecideContext, nominee: Nominee, proposal: Proposal) -> None:
    """Reserve what an entry waits for against later entries of this cycle.

    Source: behaviour.md 3.4, step 5.
    """
    cells = nominee.cq.node.cells
    borrows = proposal.assignment.borrows > 0
    charges: list[tuple[FlavorResource, int]] = []
    for fr, units in proposal.assignment.usage.items():
        cell, amount = cells[fr], units
        if not borrows:
            amount = max(0, min(units, cell.nominal - cell.usage))
        elif cell.borrowing is not None:
            amount = min(units, cell.nominal + cell.borrowing - cell.usage)
            if amount < 0:
                context.lower_usage(cell, amount)
                continue
        charges.append((fr, amount))
    context.reserve(nominee.cq.tree, nominee.cq.node, charges)
    context.reserve_seats(proposal.assignment.seats)
