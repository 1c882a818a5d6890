"""Charging workloads to their queues and giving quota back, with all that this wakes.

Only folds call these.
"""

from __future__ import annotations

from tidegate.core import deadlines
from tidegate.core.charging import charged
from tidegate.core.draft import Draft, Workload
from tidegate.core.families import DEACTIVATED
from tidegate.core.forest import HOLDING, count_held, forest, hold, intend, touch
from tidegate.core.heads import leave, place, wake
from tidegate.core.rooms import Room, Tree
from tidegate.core.tree import add, remove
from tidegate.model.podset import PodSetAssignment


def take(
    draft: Draft, workload: Workload, cluster_queue: str, assignment: tuple[PodSetAssignment, ...]
) -> None:
    """Charge a workload that stands in no queue any more to a ClusterQueue."""
    deadlines.clear(draft, f"requeue/{workload.key}")  # over, perhaps without a heartbeat
    trees = forest(draft)
    room = trees.rooms.get(cluster_queue)
    workload.cluster_queue = cluster_queue
    workload.assignment = assignment
    workload.charges = charged(workload, assignment)
    hold(trees, workload)
    if room is not None:
        touch(draft, room.tree)


def give(draft: Draft, workload: Workload, *, outside: bool) -> None:
    """Give back what a workload is charged; nothing happens if it holds nothing.

    Args:
        draft: whose quota it is.
        workload: its assignment is forgotten.
        outside: nobody was preempted for it: see docs/adr/0005.
    """
    if workload.phase not in HOLDING:
        return
    room = forest(draft).rooms.get(workload.cluster_queue)
    charges = workload.charges
    if room is not None and room.holding.pop(workload.key, None) is not None:
        if room.tree.leaving.pop(workload.key, None) is None:
            count_held(room, workload, -1)
        remove(room.node, charges)
        freed(draft, room.tree, outside=outside)
    workload.charges, workload.assignment = (), ()


def recharge(draft: Draft, workload: Workload) -> None:
    """Charge a workload for the pods that still count."""
    now = charged(workload, workload.assignment)
    room = forest(draft).rooms.get(workload.cluster_queue)
    if room is None or workload.key not in room.holding or now == workload.charges:
        workload.charges = now
        return
    counted = workload.key not in room.tree.leaving
    remove(room.node, workload.charges)
    if counted:
        count_held(room, workload, -1)
    workload.charges = now
    add(room.node, now)
    if counted:
        count_held(room, workload, 1)
    freed(draft, room.tree, outside=True)


def freed(draft: Draft, tree: Tree, *, outside: bool) -> None:
    """Note that quota came back to a tree: what was parked may fit now."""
    tree.left_seq = draft.seq
    if outside:
        tree.outside_seq = draft.seq
    touch(draft, tree)
    if draft.policy.compatibility == "kueue":
        wake(draft, tree)


def begin_leaving(draft: Draft, workload: Workload) -> Room | None:
    """Note that a workload that holds quota is to give it back; return its room."""
    room = forest(draft).rooms.get(workload.cluster_queue)
    if room is not None and workload.key in room.holding:
        if workload.key not in room.tree.leaving:
            count_held(room, workload, -1)
        room.tree.leaving[workload.key] = workload
        touch(draft, room.tree)
    return room


def let_in(draft: Draft, preemptor: str) -> None:
    """Let those who made way for a preemptor compete again, and forget its intent."""
    intent = draft.intents.pop(preemptor, None)
    if intent is None:
        return
    room = forest(draft).rooms.get(intent.cluster_queue)
    intend(draft.forest, intent, -1)
    for victim in intent.victims:
        workload = draft.workloads.get(victim.workload)
        if workload is not None and workload.made_way_for == preemptor:
            workload.made_way_for = ""
            place(draft, workload)
    if room is not None:
        touch(draft, room.tree)


def deactivate(draft: Draft, workload: Workload, reason: str) -> None:
    """Let a workload wait for nothing: what it did before is forgotten once it is activated.

    Not of a variant that only gives way to its siblings.
    """
    leave(draft, workload)
    workload.phase, workload.held = "inactive", None
    deadlines.clear(draft, f"requeue/{workload.key}")
    if reason != DEACTIVATED:
        workload.requeue_after_us = workload.requeue_count = workload.executed_us = 0
