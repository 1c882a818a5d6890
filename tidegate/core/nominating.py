"""What each ClusterQueue's head could be given in a cycle, all against the same tree.

Source: behaviour.md 1 (admissibility), 3.1.
"""

from __future__ import annotations

from typing import Literal

from tidegate.contracts.decisions import HeldReason
from tidegate.core.admissibility import NAMESPACE_MISMATCH, refused
from tidegate.core.draft import Draft, Intent, Workload
from tidegate.core.gaps import ACTS_FIRST, backs_off, closes_at_us
from tidegate.core.ordering import Entry, gate
from tidegate.core.passing import Pass, Scan
from tidegate.core.proposing import Proposal, propose
from tidegate.core.rooms import Room, Shape
from tidegate.model.ids import FlavorResource

Outcome = Literal[
    "admitted",
    "preempting",
    "no fit",
    "no candidates",
    "gated",
    "deferred",
    "skipped",
    "left",  # the turn was full: it was not looked at
    "refused",  # it may not be admitted at all
    "elsewhere",  # its namespace may not use the ClusterQueue
]
"""How a cycle ended for a head; behaviour.md 2.4 calls it the requeue reason."""


class Nominee(Entry, kw_only=True, eq=False):
    """A ClusterQueue's head in one cycle."""

    room: Room
    proposal: Proposal | None = None  # None: it may not be admitted
    intent: Intent | None = None  # it preempted before, and there is room for it now
    outcome: Outcome = "skipped"
    reason: HeldReason = "WaitingForQuota"
    details: str = ""  # in words; empty: what was tried tells
    until_us: int = 0  # it is held back until then

    @property
    def usage(self) -> dict[FlavorResource, int]:
        """Return what it would be charged."""
        return {} if self.proposal is None else self.proposal.assignment.usage


def nominate(draft: Draft, room: Room, workload: Workload, scan: Scan = ()) -> Nominee:
    """Return what could be done for a head now; remembered until something in its tree changes."""
    shape = workload.shape
    assert shape is not None
    if draft.policy.compatibility != "kueue" and backs_off(draft, workload):
        return _backing_off(room, workload)
    known = shape.proposed == room.tree.stamp and shape.proposed_rank is workload.rank
    if known and not scan and isinstance(shape.nominee, Nominee):
        found = _again(shape.nominee)
    else:
        found = _nominate(draft, room, workload, scan)
        if not scan:
            shape.nominee, shape.proposed = _again(found), room.tree.stamp
            shape.proposed_rank = workload.rank
    if draft.vain and found.proposal is not None and found.proposal.works:
        return _unless_in_gap(draft, found, shape)
    return found


def look_again(draft: Draft, nominee: Nominee) -> Proposal | None:
    """Return what could be done for a head on the tree as the cycle has left it so far."""
    return _nominate(draft, nominee.room, nominee.workload, ()).proposal


def scan_of(run_of: Pass, room: Room, workload: Workload) -> Scan:
    """Return where the scan of flavors goes on, for Kueue's sake; nothing if it is outdated."""
    told = workload.scan, workload.scan_cycle, workload.scan_seq
    scan, cycle, seq = run_of.scanned.get(workload.key, told)
    if not scan:
        return ()
    policy = run_of.draft.policy
    preserved = gate(policy, "FlavorFungibilityPreserveScanProgress", default=True)
    if preserved and cycle >= run_of.cycle - 1:
        return scan
    return scan if seq >= room.tree.left_seq else ()


def _again(before: Nominee) -> Nominee:
    """Return a nominee as it was before its turn."""
    made = Nominee(
        workload=before.workload,
        borrows=before.borrows,
        is_preemptor=before.is_preemptor,
        room=before.room,
        proposal=before.proposal,
    )
    if made.proposal is None:
        made.outcome, made.reason = before.outcome, before.reason
        made.details, made.until_us = before.details, before.until_us
    return made


def _nominate(draft: Draft, room: Room, workload: Workload, scan: Scan) -> Nominee:
    """Return what could be done, whether it is worth while or not."""
    made = Nominee(workload=workload, room=room)
    if _admissible(draft, workload, made):
        made.proposal = propose(draft, room, workload, scan)
        made.borrows = made.proposal.assignment.borrows
        made.is_preemptor = draft.sticky.get(room.name) == workload.key
    return made


def _unless_in_gap(draft: Draft, found: Nominee, shape: Shape) -> Nominee:
    """Hold a workload that could start back from a gap that is about to close.

    So until version 2 of the rules; since then it is asked later, see ``gaps.foreseen_us``.
    """
    asked_later = draft.policy.compatibility == "kueue" or draft.policy.rules >= ACTS_FIRST
    until_us = 0 if asked_later else closes_at_us(draft, found.workload, shape)
    return (
        hold_back(Nominee(workload=found.workload, room=found.room), until_us)
        if until_us
        else found
    )


def _backing_off(room: Room, workload: Workload) -> Nominee:
    """Return a workload that waits until the time it was told."""
    shape, held = workload.shape, workload.held
    assert shape is not None
    assert held is not None
    shape.nominee, shape.proposed = None, room.tree.stamp
    shape.proposed_rank = None
    return hold_back(Nominee(workload=workload, room=room), held.until_us)


def hold_back(nominee: Nominee, until_us: int) -> Nominee:
    """Refuse a head, whatever could be done for it, until the gap is over."""
    nominee.proposal, nominee.outcome, nominee.reason = None, "refused", "BackingOff"
    nominee.details = "its kind was preempted here before, and the same is about to happen again"
    nominee.until_us = until_us
    return nominee


def _admissible(draft: Draft, workload: Workload, made: Nominee) -> bool:
    """Tell whether quota is the question at all; if not, say in ``made`` what is wrong."""
    found = refused(draft, workload)
    if found is None:
        return True
    made.outcome = "elsewhere" if found.code == NAMESPACE_MISMATCH else "refused"
    made.reason, made.details = found.reason, found.details
    return False
