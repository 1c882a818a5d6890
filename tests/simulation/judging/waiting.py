"""No workload is stuck: if it waits, it says for what, and what it waits for can happen.

Asked of the state after each turn of a ledger: by then every rule has been asked. With it goes the
sum of what is charged: each ClusterQueue counts what its workloads hold, workload by workload.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from tests.simulation.judging.owners import check_owners_first, check_ranks
from tests.simulation.judging.verdict import demand
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.core.folding.fold import apply
from tidegate.core.queueing.siblings import (
    is_replaced_slice_evicted,
    must_wait_for_sibling,
    variants_of,
)
from tidegate.core.quota.forest import forest
from tidegate.core.state.state import State, Workload


def check_no_workload_is_stuck(entries: Iterable[Entry]) -> int:
    """Fold a ledger turn by turn and assert it of everybody; return how often that was asked."""
    state, asked = State(), 0
    for _, turn in groupby(entries, key=lambda entry: entry.turn):
        events = [decode(entry.payload) for entry in turn]
        preemptors = set(state.intents)
        for event in events:
            apply(state, event)
        if _decides(state):
            forest(state)
            _check_charges(state)
            check_owners_first(state, events, preemptors)
            check_ranks(state)
            for workload in state.workloads.values():
                moves = what_moves(state, workload)
                demand(moves, "stuck", f"{workload.key} is at {state.seq}")
                asked += 1
    return asked


def _check_charges(state: State) -> None:
    """Object if what a ClusterQueue counts as used is not the sum of what its workloads hold."""
    held = dict[tuple[str, object], int]()
    for workload in state.workloads.values():
        for fr, amount in workload.charges:
            held[workload.cluster_queue, fr] = held.get((workload.cluster_queue, fr), 0) + amount
    used = {
        (cq.name, fr): cell.usage
        for cq in state.forest.cluster_queues.values()
        for fr, cell in cq.node.cells.items()
        if cell.usage
    }
    queues = state.forest.cluster_queues
    known = {key: amount for key, amount in held.items() if amount and key[0] in queues}
    demand(used == known, "quota", f"at {state.seq} {used} is counted as used, and held is {known}")


def what_moves(state: State, workload: Workload) -> str:
    """Return what a workload waits for that can happen; "" if there is nothing."""
    match workload.phase:
        case "finished":
            return "its removal"
        case "inactive":
            return _stays_out(state, workload)
        case "parent":
            moving = any(variant.phase != "inactive" for variant in variants_of(state, workload))
            return "its variants" if moving else ""
        case "evicting":
            return "its stop" if _is_watched(state, workload) else ""
        case "admitted":
            return "" if _is_drained(state, workload) else _ends(state, workload)
        case "reserved":
            ready = {
                name
                for name, check_state in workload.checks.items()
                if check_state.state == "Ready"
            }
            defined = state.objects.cluster_queues.get(workload.cluster_queue)
            rules = () if defined is None else defined.spec.checks
            return "its checks" if any(rule.name not in ready for rule in rules) else ""
        case "pending":
            return _pends(state, workload)


def _stays_out(state: State, workload: Workload) -> str:
    """A deactivated workload waits for a user; a variant also for the one that is admitted."""
    parent = state.workloads.get(workload.parent)
    if parent is None or workload.deactivated_cause or parent.phase != "parent":
        return "a user who activates it"
    moves = any(key in state.intents for key in parent.variants)
    return "its sibling" if parent.acting or moves else ""


def _is_drained(state: State, workload: Workload) -> bool:
    """Tell whether no workload may stay in its queue."""
    objects, namespace = state.objects, workload.key.partition("/")[0]
    cq = objects.cluster_queues.get(workload.cluster_queue)
    local = objects.local_queues.get(f"{namespace}/{workload.queue}")
    policies = [event.spec.stop_policy for event in (cq, local) if event is not None]
    return "HoldAndDrain" in policies


def _ends(state: State, workload: Workload) -> str:
    """Every bound on a run has its deadline, or nothing bounds it."""
    times, ready = state.deadlines.at, state.policy.pods_ready
    if workload.max_execution_s and f"execution/{workload.key}" not in times:
        return ""
    waits = ready is not None and not workload.ready
    unbounded = ready is not None and workload.recovering and ready.recovery_timeout_us == 0
    if waits and not unbounded and f"ready/{workload.key}" not in times:
        return ""
    return "its end"


def _pends(state: State, workload: Workload) -> str:
    if f"requeue/{workload.key}" in state.deadlines.at:
        return "its time"
    if workload.requeue_after_us > state.now_us:
        return ""
    if workload.key in state.intents:
        return "its victims"
    if workload.made_way_for:
        return "its preemptor" if workload.made_way_for in state.intents else ""
    if workload.shape is not None and _is_tried(state, workload):
        return "quota"
    return _said(state, workload)


def _is_tried(state: State, workload: Workload) -> bool:
    """Tell whether its queue is open, and it or a workload before it was said to wait."""
    cq = state.forest.cluster_queues.get(workload.cluster_queue)
    if cq is None or not cq.active:
        return False
    waits = [
        workload
        for workload in state.workloads.values()
        if workload.cluster_queue == cq.name and workload.phase == "pending"
    ]
    return any(
        workload.pending_status is not None or workload.key in state.intents for workload in waits
    )


def _said(state: State, workload: Workload) -> str:
    """Return what it said, if what it said is so."""
    others = workload.pending_status.others if workload.pending_status is not None else ()
    cq = state.forest.cluster_queues.get(workload.cluster_queue)
    local = state.objects.local_queues.get(f"{workload.key.partition('/')[0]}/{workload.queue}")
    holds = {
        "LocalQueueNotFound": local is None,
        "LocalQueueStopped": local is not None
        and (local.spec.stop_policy != "None" or local.deleting),
        "ClusterQueueNotFound": workload.cluster_queue not in state.objects.cluster_queues,
        "ClusterQueueInactive": cq is not None and not cq.active,
        "PriorityClassNotFound": not workload.class_known,
        "AdmissionGatedBy": bool(workload.gates),
        "ReplacedSliceLeaves": is_replaced_slice_evicted(state, workload),
        "VariantLeaves": must_wait_for_sibling(state, workload),
    }
    return next((text for text in others if holds.get(text)), "")


def _is_watched(state: State, workload: Workload) -> bool:
    """Tell whether its stop is ordered again if no actuator carries it out."""
    key = f"repair/{workload.key}"
    watched = key in state.deadlines.at or key in state.deadlines.due
    return watched or workload.state.deleting


def _decides(state: State) -> bool:
    rounds = [state.rounds.get(text) for text in state.expected or ()]
    rounds += state.rounds.values() if rounds else ()
    return bool(rounds) and all(
        candidate_round is not None and candidate_round.completed for candidate_round in rounds
    )
