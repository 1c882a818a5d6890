"""Variants of one workload that are tried at the same time, each on flavors of its own.

The first that fits is admitted. A variant on a flavor that the ClusterQueue lists earlier takes its
place, if the queue's policy allows that and there is room; the others wait.

Source: behaviour.md 14; conformance/concurrent-admission.
"""

from __future__ import annotations

from tidegate.contracts.decisions import (
    PreemptionAbandoned,
    PreemptionIntended,
    Victim,
)
from tidegate.core.deciding.admit import granted
from tidegate.core.draft import Draft, Workload
from tidegate.core.families import GATE, MIGRATION
from tidegate.core.forest import HOLDING
from tidegate.core.nominating import Nominee
from tidegate.core.ordering import gate
from tidegate.core.orders import evicted
from tidegate.core.passing import Pass
from tidegate.core.proposing import Proposal
from tidegate.core.rooms import Room
from tidegate.model.podset import PodSetAssignment

_BETTER = "a variant of it holds quota of a flavor that is preferred"
_STAYS = "a variant of it holds quota, and the ClusterQueue does not let it move to this flavor"


def attend_variant(run_of: Pass, nominee: Nominee, proposal: Proposal) -> bool:
    """Let a variant wait for, or take the place of, the one that holds quota.

    Tells whether that was all: without such a sibling it is like any workload.
    """
    if waits_for_variant(run_of.draft, nominee):
        if nominee.intent is not None and nominee.outcome == "refused":
            _abandon(run_of, nominee)
        return True
    sibling = holder(run_of.draft, nominee.workload)
    if sibling is None or proposal.assignment.mode != "Fit":
        return False
    _migrate(run_of, nominee, proposal, sibling)
    return True


def waits_for_variant(draft: Draft, nominee: Nominee) -> bool:
    """Tell whether a variant waits because of the one that holds quota, and note why."""
    workload, room = nominee.workload, nominee.room
    sibling = holder(draft, workload)
    if sibling is None:
        return False
    if sibling.phase == "evicting":
        nominee.outcome, nominee.reason = "deferred", "WaitingForPreemptedWorkloads"
        return True
    places = _places(room)
    own = min((places.get(name, 0) for name in workload.allowed_flavors or places), default=0)
    last = places.get(room.spec.last_acceptable_flavor, len(places))
    if _place(places, sibling) <= own:
        details = _BETTER
    elif own > last or not room.spec.migrates:
        details = _STAYS
    else:
        return False
    nominee.outcome, nominee.reason, nominee.details = "refused", "PendingEvaluation", details
    return True


def holder(draft: Draft, workload: Workload) -> Workload | None:
    """Return the variant that holds quota, the one that does not leave first; None: no variant."""
    if not workload.variant_of or not gate(draft.policy, GATE, default=False):
        return None
    if workload.parent:
        parent = draft.workloads.get(workload.parent)
        return None if parent is None else draft.workloads.get(parent.acting)
    found = [
        one
        for one in draft.workloads.values()
        if one.variant_of == workload.variant_of and one is not workload and one.phase in HOLDING
    ]
    return min(found, key=lambda one: (one.phase == "evicting", one.key), default=None)


def _places(room: Room) -> dict[str, int]:
    flavors = (one.flavor for group in room.spec.groups for one in group.flavors)
    return {name: place for place, name in enumerate(dict.fromkeys(flavors))}


def _place(places: dict[str, int], sibling: Workload) -> int:
    given = {name for podset in sibling.assignment for name in podset.flavors.values()}
    return max((places.get(name, 0) for name in given), default=0)


def _abandon(run_of: Pass, nominee: Nominee) -> None:
    """Keep nothing for a variant that it had made room for."""
    run_of.tell(
        PreemptionAbandoned(
            at_us=run_of.draft.now_us,
            workload=nominee.workload.key,
            uid=nominee.workload.uid,
            cluster_queue=nominee.room.name,
            reason="a variant of it holds quota",
        )
    )


def _migrate(run_of: Pass, nominee: Nominee, proposal: Proposal, sibling: Workload) -> None:
    draft, workload = run_of.draft, nominee.workload
    victim = Victim(
        workload=sibling.key,
        uid=sibling.uid,
        cluster_queue=sibling.cluster_queue,
        reason=MIGRATION,
    )
    amounts: dict[str, dict[str, int]] = {}
    for fr, units in proposal.assignment.usage.items():
        amounts.setdefault(fr.flavor, {})[fr.resource] = units
    intended = PreemptionIntended(
        at_us=draft.now_us,
        workload=workload.key,
        uid=workload.uid,
        cluster_queue=nominee.room.name,
        victims=(victim,),
        amounts=amounts,
        assignment=_given(nominee, proposal),
    )
    said = f"Its variant {workload.key} moves to a flavor that is preferred."
    charges = list(proposal.assignment.usage.items())
    run_of.reserve(nominee.room.tree, nominee.room.node, charges)
    for event in (intended, *evicted(draft, sibling, MIGRATION, message=said)):
        run_of.tell(event)
    nominee.outcome, nominee.reason = "preempting", "WaitingForPreemptedWorkloads"


def _given(nominee: Nominee, proposal: Proposal) -> tuple[PodSetAssignment, ...]:
    """Return what it would be given: as it was intended before, if nothing else was found."""
    if proposal.assignment.podsets or nominee.intent is None:
        return granted(proposal.assignment)
    return nominee.intent.assignment
