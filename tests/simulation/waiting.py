"""Nobody is stuck: whoever waits says for what, and what it waits for can happen.

Asked of the draft after each turn of a ledger: by then every rule has been asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from tests.simulation.verdict import demand
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.core.draft import Draft, Workload
from tidegate.core.families import sibling_leaves, variants
from tidegate.core.fold import apply
from tidegate.core.forest import forest
from tidegate.core.succession import replaced_leaves


def check_nobody_is_stuck(entries: Iterable[Entry]) -> int:
    """Fold a ledger turn by turn and assert it of everybody; return how often that was asked."""
    draft, asked = Draft(), 0
    for _, turn in groupby(entries, key=lambda entry: entry.turn):
        for entry in turn:
            apply(draft, decode(entry.payload))
        if _decides(draft):
            forest(draft)
            for workload in draft.workloads.values():
                moves = what_moves(draft, workload)
                demand(moves, "stuck", f"{workload.key} is at {draft.seq}")
                asked += 1
    return asked


def what_moves(draft: Draft, workload: Workload) -> str:
    """Return what a workload waits for that can happen; "" if there is nothing."""
    match workload.phase:
        case "finished":
            return "its removal"
        case "inactive":
            return _stays_out(draft, workload)
        case "parent":
            moving = any(one.phase != "inactive" for one in variants(draft, workload))
            return "its variants" if moving else ""
        case "evicting":
            return "its stop" if _is_watched(draft, workload) else ""
        case "admitted":
            return _ends(draft, workload)
        case "reserved":
            ready = {name for name, told in workload.checks.items() if told.state == "Ready"}
            defined = draft.objects.cluster_queues.get(workload.cluster_queue)
            rules = () if defined is None else defined.spec.checks
            return "its checks" if any(one.name not in ready for one in rules) else ""
        case "pending":
            return _pends(draft, workload)


def _stays_out(draft: Draft, workload: Workload) -> str:
    """Whoever is deactivated waits for people; a variant also for the one that is admitted."""
    parent = draft.workloads.get(workload.parent)
    if parent is None or workload.deactivated_cause or parent.phase != "parent":
        return "somebody who activates it"
    moves = any(key in draft.intents for key in parent.variants)
    return "its sibling" if parent.acting or moves else ""


def _ends(draft: Draft, workload: Workload) -> str:
    """Every bound on a run has its deadline, or nothing bounds it."""
    times, ready = draft.deadlines.at, draft.policy.pods_ready
    if workload.max_execution_s and f"execution/{workload.key}" not in times:
        return ""
    waits = ready is not None and not workload.ready
    unbounded = ready is not None and workload.recovering and ready.recovery_timeout_us == 0
    if waits and not unbounded and f"ready/{workload.key}" not in times:
        return ""
    return "its end"


def _pends(draft: Draft, workload: Workload) -> str:
    if f"requeue/{workload.key}" in draft.deadlines.at:
        return "its time"  # it may have come: the next heartbeat says so
    if workload.requeue_after_us > draft.now_us:
        return ""
    if workload.key in draft.intents:
        return "its victims"
    if workload.made_way_for:
        return "its preemptor" if workload.made_way_for in draft.intents else ""
    if workload.shape is not None and _is_tried(draft, workload):
        return "quota"
    return _said(draft, workload)


def _is_tried(draft: Draft, workload: Workload) -> bool:
    """Tell whether its queue is open, and it or who stands before it was said to wait."""
    room = draft.forest.rooms.get(workload.cluster_queue)
    if room is None or not room.active:
        return False
    waits = [
        one
        for one in draft.workloads.values()
        if one.cluster_queue == room.name and one.phase == "pending"
    ]
    return any(one.held is not None or one.key in draft.intents for one in waits)


def _said(draft: Draft, workload: Workload) -> str:
    """Return what it said, if what it said is so."""
    said = workload.held.others if workload.held is not None else ()
    room = draft.forest.rooms.get(workload.cluster_queue)
    local = draft.objects.local_queues.get(f"{workload.key.partition('/')[0]}/{workload.queue}")
    holds = {
        "LocalQueueNotFound": local is None,
        "LocalQueueStopped": local is not None
        and (local.spec.stop_policy != "None" or local.deleting),
        "ClusterQueueNotFound": room is None,
        "ClusterQueueInactive": room is not None and not room.active,
        "AdmissionGatedBy": bool(workload.gates),
        "ReplacedSliceLeaves": replaced_leaves(draft, workload),
        "VariantLeaves": sibling_leaves(draft, workload),
    }
    return next((one for one in said if holds.get(one)), "")


def _is_watched(draft: Draft, workload: Workload) -> bool:
    """Tell whether its stop is ordered again if nobody carries it out."""
    key = f"repair/{workload.key}"
    watched = key in draft.deadlines.at or key in draft.deadlines.due
    return watched or workload.state.deleting


def _decides(draft: Draft) -> bool:
    rounds = [draft.rounds.get(one) for one in draft.expected or ()]
    return bool(rounds) and all(one is not None and one.completed for one in rounds)
