"""What becomes of each entry when its turn comes in a cycle of the default mode.

Each could act when the cycle began. Whoever finds that an earlier entry took what it needs is
looked at again in the next cycle, in which it competes with all others anew.

Source: behaviour.md 3.4; docs/adr/0005.
"""

from __future__ import annotations

from tidegate.core.deciding.admit import admit
from tidegate.core.deciding.intents import fulfil
from tidegate.core.deciding.preempt import preempt
from tidegate.core.deciding.variants import attend_variant
from tidegate.core.nominating import Nominee
from tidegate.core.passing import Pass
from tidegate.core.proposing import Proposal
from tidegate.core.timing import admission_blocked
from tidegate.core.tree import add, fits, remove


def process(context: Pass, nominee: Nominee) -> None:
    """Admit an entry or let it preempt, if nobody before it took what it needs."""
    proposal = nominee.proposal
    if proposal is None or attend_variant(context, nominee, proposal):
        return
    starts = nominee.intent is not None or not proposal.targets
    if starts and admission_blocked(context.draft):
        return
    if nominee.intent is not None:
        if fulfil(context, nominee):
            nominee.outcome = "admitted"
        return
    if overlaps(context, proposal) or not fits_after(context, nominee, proposal):
        return
    yields = _yields_to_owners(nominee)
    if proposal.targets or (not yields and _has_room(context, nominee, proposal)):
        take(context, nominee, proposal)


def overlaps(context: Pass, proposal: Proposal) -> bool:
    """Tell whether somebody whom an entry would preempt was preempted in this cycle already."""
    return any(target.workload.key in context.victims for target in proposal.targets)


def fits_after(context: Pass, nominee: Nominee, proposal: Proposal) -> bool:
    """Tell whether an entry fits once this cycle's victims and its own have left."""
    rooms = context.draft.forest.rooms
    gone = dict(context.victims)
    gone.update((target.workload.key, target.workload) for target in proposal.targets)
    for one in gone.values():
        remove(rooms[one.cluster_queue].node, one.charges)
    found = fits(nominee.room.node, proposal.assignment.usage.items())
    for one in gone.values():
        add(rooms[one.cluster_queue].node, one.charges)
    return found


def take(context: Pass, nominee: Nominee, proposal: Proposal) -> None:
    """Admit, or preempt and keep what that will free."""
    room = nominee.room
    if proposal.targets:
        context.reserve(room.tree, room.node, list(proposal.assignment.usage.items()))
        for target in proposal.targets:
            context.victims[target.workload.key] = target.workload
        new = preempt(context, nominee, proposal)
        nominee.outcome = "preempting" if new else "deferred"
        nominee.reason = "WaitingForPreemptedWorkloads"
    else:
        room.tree.owners_served = room.tree.owners_served or not nominee.borrows
        admit(context, nominee.room, nominee.workload, proposal.assignment)
        nominee.outcome = "admitted"


def _yields_to_owners(nominee: Nominee) -> bool:
    """Tell whether a borrower waits a cycle: some owner was served and may have more to start."""
    return nominee.borrows > 0 and nominee.room.tree.owners_served


def _has_room(context: Pass, nominee: Nominee, proposal: Proposal) -> bool:
    """Tell whether what is charged leaves room too, whoever may be leaving."""
    charges = proposal.assignment.usage.items()
    return context.fits_now(nominee.room.tree, nominee.room.node, charges)
