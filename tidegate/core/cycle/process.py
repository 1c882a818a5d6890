"""Admits or preempts for each entry of a cycle in turn, in the default mode.

Each entry could act when the cycle began. An entry that no longer fits, because an earlier entry
took its quota or nodes, is nominated again in the next cycle and competes with all others.

Source: behaviour.md 3.4; docs/adr/0005.
"""

from __future__ import annotations

from tidegate.core.admission.admit import admit
from tidegate.core.admission.concurrent import attend_variant
from tidegate.core.admission.intents import fulfil
from tidegate.core.admission.preempt import preempt
from tidegate.core.folding.timing import admission_blocked
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.direct_fit import with_podsets
from tidegate.core.nomination.nominate import Nominee
from tidegate.core.nomination.proposals import Proposal
from tidegate.core.preemption.trial import is_displaced
from tidegate.core.quota.tree import add, fits, remove


def process(context: DecideContext, nominee: Nominee) -> None:
    """Admit an entry or let it preempt, if no earlier entry took its quota or nodes."""
    proposal = nominee.proposal
    if proposal is None or attend_variant(context, nominee, proposal):
        return
    starts = nominee.intent is not None or not proposal.targets
    if starts and admission_blocked(context.state):
        return
    if nominee.intent is not None:
        if fulfil(context, nominee):
            _note_admission(nominee)
        return
    if not proposal.targets and not context.place_now(nominee.workload, proposal.assignment):
        return  # an earlier entry took its nodes, and there are no others
    late = overlaps(context, proposal) or _came_too_late(context, nominee, proposal)
    if late or not fits_after(context, nominee, proposal):
        return
    yields = _yields_to_owners(nominee)
    if proposal.targets or (not yields and _fits(context, nominee, proposal)):
        take(context, nominee, proposal)


def overlaps(context: DecideContext, proposal: Proposal) -> bool:
    """Tell whether one of an entry's targets was preempted earlier in this cycle."""
    return any(target.workload.key in context.victims for target in proposal.targets)


def _came_too_late(context: DecideContext, nominee: Nominee, proposal: Proposal) -> bool:
    """Tell whether an entry, itself displaced, lost its right to preempt in other ClusterQueues.

    Another displaced workload used that right earlier in this cycle; see docs/adr/0005.
    """
    if not is_displaced(context.state, nominee.cq, nominee.workload):
        return False
    return any(target.cluster_queue != nominee.cq.name for target in proposal.targets)


def fits_after(context: DecideContext, nominee: Nominee, proposal: Proposal) -> bool:
    """Tell whether an entry fits once this cycle's victims and its own have left."""
    cluster_queues = context.state.forest.cluster_queues
    gone = {target.workload.key: target.workload for target in proposal.targets} | context.victims
    topologies = context.state.forest.topologies
    for workload in gone.values():
        remove(cluster_queues[workload.cluster_queue].node, workload.charges)
        topologies.shift(workload.key, -1)
    is_fitting = fits(nominee.cq.node, proposal.assignment.usage.items())
    seats = proposal.assignment.seats
    is_fitting = is_fitting and (not seats or topologies.fit(seats))
    for workload in gone.values():
        add(cluster_queues[workload.cluster_queue].node, workload.charges)
        topologies.shift(workload.key, 1)
    return is_fitting


def take(context: DecideContext, nominee: Nominee, proposal: Proposal) -> None:
    """Admit an entry, or preempt its targets and reserve the quota that they will free."""
    cq = nominee.cq
    if proposal.targets:
        context.reserve(cq.tree, cq.node, list(proposal.assignment.usage.items()))
        context.reserve_seats(proposal.assignment.seats)
        for target in proposal.targets:
            context.victims[target.workload.key] = target.workload
        new = preempt(context, nominee, proposal)
        nominee.outcome = "preempting" if new else "deferred"
        nominee.reason = "WaitingForPreemptedWorkloads"
    else:
        assignment = with_podsets(context.state, nominee, proposal)
        admit(context, nominee.cq, nominee.workload, assignment)
        _note_admission(nominee)


def _note_admission(nominee: Nominee) -> None:
    nominee.outcome = "admitted"
    if not nominee.borrows:
        nominee.cq.tree.owners_served = True


def _yields_to_owners(nominee: Nominee) -> bool:
    """Tell whether a borrower waits a cycle because a workload within nominal quota started."""
    return nominee.borrows > 0 and nominee.cq.tree.owners_served


def _fits(context: DecideContext, nominee: Nominee, proposal: Proposal) -> bool:
    """Return whether an assignment fits beside all charges, those of leaving workloads included."""
    charges = proposal.assignment.usage.items()
    if not context.fits_now(nominee.cq, charges):
        return False
    return context.place_now(nominee.workload, proposal.assignment)
