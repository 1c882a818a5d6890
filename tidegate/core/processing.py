"""What becomes of each entry when its turn comes in a cycle.

Source: behaviour.md 3.4 and its notes 3 and 8.
"""

from __future__ import annotations

from tidegate.contracts.decisions import HeldReason
from tidegate.core.deciding.admit import admit
from tidegate.core.deciding.intents import fulfil
from tidegate.core.deciding.preempt import preempt
from tidegate.core.deciding.variants import attend_variant
from tidegate.core.families import PREEMPTION_GATE
from tidegate.core.nominating import Nominee, look_again
from tidegate.core.ordering import gate
from tidegate.core.passing import Pass
from tidegate.core.proposing import Proposal, propose_again
from tidegate.core.timing import admission_blocked
from tidegate.core.tree import Cell, add, fits, remove
from tidegate.model.ids import FlavorResource


def process(  # noqa: C901 - the steps of behaviour.md 3.4, in their order
    run_of: Pass, nominee: Nominee
) -> None:
    """Admit an entry, let it preempt, or say why not."""
    proposal = nominee.proposal
    if proposal is None:
        return
    if attend_variant(run_of, nominee, proposal):
        return
    if _waits_for_pods(run_of, nominee, proposal):
        _skip(nominee, "", "WaitingForPodsReady")
        return
    if nominee.intent is not None:
        nominee.outcome = "admitted" if fulfil(run_of, nominee) else "left"
        return
    overlaps = _overlaps(run_of, proposal)
    if overlaps and _recomputes(run_of):
        proposal = _recompute(run_of, nominee, proposal)
        if proposal.assignment.mode == "Fit":
            _defer(run_of, nominee)
            return
        overlaps = _overlaps(run_of, proposal)
    if proposal.assignment.mode == "NoFit":
        nominee.outcome = "no fit"
        nominee.reason = proposal.assignment.reason or "NoMatchingFlavor"
    elif proposal.assignment.mode == "Preempt" and not proposal.targets:
        nominee.outcome, nominee.reason = "no candidates", "WaitingForQuota"
        if _keeps_room(run_of, nominee):
            _reserve(run_of, nominee, proposal)
    elif proposal.targets and _gated(run_of, nominee):
        nominee.outcome, nominee.reason = "gated", "AdmissionGated"
        nominee.details = "its preemption gate is closed"
    elif overlaps:
        _skip(nominee, "another workload preempts the same workloads")
    else:
        _act(run_of, nominee, proposal)


def _waits_for_pods(run_of: Pass, nominee: Nominee, proposal: Proposal) -> bool:
    """Tell whether it would start, had everybody else's pods been ready; step 12."""
    would_start = nominee.intent is not None or proposal.assignment.mode == "Fit"
    return would_start and admission_blocked(run_of.draft)


def _act(run_of: Pass, nominee: Nominee, proposal: Proposal) -> None:
    """Admit or preempt, if what the cycle did so far leaves room for it."""
    if not proposal.targets and _yields_to_owners(run_of, nominee):
        _skip(nominee, "whoever has quota of its own goes first")
        return
    found = _still(run_of, nominee, proposal)
    if found is None:
        _skip(nominee, "another workload took the quota in this cycle")
    elif not found.targets and not _has_room(run_of, nominee, found):
        _skip(nominee, "", "WaitingForPreemptedWorkloads")
    else:
        _take(run_of, nominee, found)


def _still(run_of: Pass, nominee: Nominee, proposal: Proposal) -> Proposal | None:
    """Return what can be done behind this cycle's other entries; None: nothing."""
    if _fits_after(run_of, nominee, proposal):
        return proposal
    fresh = _propose_now(run_of, nominee)
    if fresh is None or fresh.assignment.mode != "Fit":
        return None
    nominee.proposal = fresh
    return fresh if _fits_after(run_of, nominee, fresh) else None


def _has_room(run_of: Pass, nominee: Nominee, proposal: Proposal) -> bool:
    """Tell whether what is charged leaves room too; Kueue's does not look."""
    room, charges = nominee.room, proposal.assignment.usage.items()
    return run_of.kueue or run_of.fits_now(room.tree, room.node, charges)


def _take(run_of: Pass, nominee: Nominee, proposal: Proposal) -> None:
    """Admit, or preempt and keep what that will free."""
    room = nominee.room
    if proposal.targets:
        run_of.reserve(room.tree, room.node, list(proposal.assignment.usage.items()))
        for target in proposal.targets:
            run_of.victims[target.workload.key] = target.workload
        new = preempt(run_of, nominee, proposal)
        nominee.outcome = "preempting" if new else "deferred"
        nominee.reason = "WaitingForPreemptedWorkloads"
    else:
        room.tree.owners_served = room.tree.owners_served or not nominee.borrows
        admit(run_of, nominee.room, nominee.workload, proposal.assignment)
        nominee.outcome = "admitted"


def _keeps_room(run_of: Pass, nominee: Nominee) -> bool:
    """Tell whether an entry without candidates keeps room from later entries of its cycle.

    Kueue's does. It holds nobody back for long, since the next cycle offers the room to all again,
    so ours keeps none.
    """
    return run_of.kueue and nominee.room.spec.preemption.reclaim_within_cohort != "Any"


def _yields_to_owners(run_of: Pass, nominee: Nominee) -> bool:
    """Tell whether a borrower waits a cycle: some owner was served and may have more to start."""
    return not run_of.kueue and nominee.borrows > 0 and nominee.room.tree.owners_served


def _propose_now(run_of: Pass, nominee: Nominee) -> Proposal | None:
    """Look again at who was overtaken in this cycle; Kueue's waits for the next."""
    return None if run_of.kueue else look_again(run_of.draft, nominee)


def _skip(nominee: Nominee, details: str, reason: HeldReason = "WaitingForQuota") -> None:
    nominee.outcome, nominee.reason, nominee.details = "skipped", reason, details


def _overlaps(run_of: Pass, proposal: Proposal) -> bool:
    return any(target.workload.key in run_of.victims for target in proposal.targets)


def _recomputes(run_of: Pass) -> bool:
    name = "RecomputeAssignmentUponPreemptionTargetsOverlap"
    return gate(run_of.draft.policy, name, default=True)


def _recompute(run_of: Pass, nominee: Nominee, before: Proposal) -> Proposal:
    """Propose the same flavors again without those who were preempted in this cycle."""
    rooms = run_of.draft.forest.rooms
    gone = list(run_of.victims.values())
    for one in gone:
        room = rooms[one.cluster_queue]
        remove(room.node, one.charges)
        room.holding.pop(one.key)
    found = propose_again(run_of.draft, nominee.room, nominee.workload, before.assignment)
    for one in gone:
        room = rooms[one.cluster_queue]
        add(room.node, one.charges)
        room.holding[one.key] = one
    nominee.proposal = found
    return found


def _defer(run_of: Pass, nominee: Nominee) -> None:
    """Let it wait for others' victims: it fits once they have left."""
    assert nominee.proposal is not None
    usage = nominee.proposal.assignment.usage
    run_of.reserve(nominee.room.tree, nominee.room.node, usage.items())
    nominee.outcome, nominee.reason = "deferred", "WaitingForPreemptedWorkloads"
    nominee.details = "it fits once workloads that others preempt have stopped"


def _gated(run_of: Pass, nominee: Nominee) -> bool:
    workload = nominee.workload
    if workload.parent and PREEMPTION_GATE in workload.preemption_gates:
        return True
    on = gate(run_of.draft.policy, "MultiKueueOrchestratedPreemption", default=False)
    return on and bool(workload.preemption_gates)


def _fits_after(run_of: Pass, nominee: Nominee, proposal: Proposal) -> bool:
    """Tell whether it fits once this cycle's victims and its own have left."""
    rooms = run_of.draft.forest.rooms
    gone = dict(run_of.victims)
    gone.update((target.workload.key, target.workload) for target in proposal.targets)
    for one in gone.values():
        remove(rooms[one.cluster_queue].node, one.charges)
    found = fits(nominee.room.node, proposal.assignment.usage.items())
    for one in gone.values():
        add(rooms[one.cluster_queue].node, one.charges)
    return found


def _reserve(run_of: Pass, nominee: Nominee, proposal: Proposal) -> None:
    """Keep what it waits for from later entries of this cycle; behaviour.md 3.4, step 5."""
    cells = nominee.room.node.cells
    borrows = nominee.borrows > 0
    kept: list[tuple[FlavorResource, int]] = []
    for fr, units in proposal.assignment.usage.items():
        cell: Cell = cells[fr]
        if borrows and cell.borrowing is None:
            kept.append((fr, units))
        else:
            most = cell.nominal + (cell.borrowing or 0 if borrows else 0) - cell.usage
            kept.append((fr, max(0, min(units, most))))
    run_of.reserve(nominee.room.tree, nominee.room.node, kept)
