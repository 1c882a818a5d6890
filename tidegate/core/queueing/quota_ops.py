"""Charges workloads to their ClusterQueues, releases quota, and applies changes of priority.

What these change wakes workloads that wait. Only folds call these functions.

Source: behaviour.md 0, 15.2 (priorities).
"""

from __future__ import annotations

from tidegate.contracts.phases import HOLDING
from tidegate.core.queueing import admission_fair_sharing
from tidegate.core.queueing.heads import dequeue, enqueue, queue_inadmissible_workloads
from tidegate.core.queueing.siblings import DEACTIVATED
from tidegate.core.quota.charging import charges_of
from tidegate.core.quota.forest import count_intent_usage, forest
from tidegate.core.quota.holdings import charge_workload, count_usage_by_priority
from tidegate.core.quota.tree import add_usage, remove_usage
from tidegate.core.state import budgets, deadlines
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.scheduling_queue import (
    invalidate_topology_trees,
    invalidate_tree,
    mark_dirty,
    record_usage_change,
)
from tidegate.core.state.state import State, Workload
from tidegate.core.topology import cluster
from tidegate.model.gates import gate_enabled
from tidegate.model.podset import PodSetAssignment


def charge_quota(
    state: State, workload: Workload, cluster_queue: str, assignment: tuple[PodSetAssignment, ...]
) -> None:
    """Charge a workload, which has left its queue, to a ClusterQueue."""
    deadlines.clear(state, f"requeue/{workload.key}")  # ends its backoff
    trees = forest(state)
    cq = trees.cluster_queues.get(cluster_queue)
    workload.cluster_queue = cluster_queue
    workload.assignment = assignment
    workload.charges = charges_of(workload, assignment)
    charge_workload(trees, workload)
    if state.budgets:
        budgets.charge_meters(state, cluster_queue, workload.charges, 1)
    cluster.charge_placement(state, workload)
    invalidate_topology_trees(state, assignment)
    _advance_generation(state, cluster_queue)
    if cq is not None:
        record_usage_change(state, cq)
        admission_fair_sharing.begin_sampling(state, cluster_queue)


def release_quota(state: State, workload: Workload, *, outside: bool) -> None:
    """Release a workload's quota; does nothing if it holds none.

    Args:
        state: changed in place.
        workload: its assignment is cleared.
        outside: the quota was not freed by preemption: see docs/adr/0005.
    """
    if workload.phase not in HOLDING:
        return
    cq = forest(state).cluster_queues.get(workload.cluster_queue)
    charges = workload.charges
    if cq is not None and cq.holding.pop(workload.key, None) is not None:
        if state.budgets:
            budgets.charge_meters(state, cq.name, charges, -1)
        cq.leaving.pop(workload.key, None)
        was_leaving = cq.tree.leaving.pop(workload.key, None) is not None
        if not was_leaving:
            count_usage_by_priority(cq, workload, -1)
        remove_usage(cq.node, charges)
        mark_quota_freed(state, cq, outside=outside, expected=was_leaving and not outside)
    placed = any(assignment.topology is not None for assignment in workload.assignment)
    cluster.release_placement(state, workload)
    if placed:
        wake_topology_trees(state)
    workload.charges, workload.assignment, workload.failed_nodes = (), (), ()


def recharge_quota(state: State, workload: Workload) -> None:
    """Charge a workload again, for the pods that still count."""
    now = charges_of(workload, workload.assignment)
    _advance_generation(state, workload.cluster_queue)
    cq = forest(state).cluster_queues.get(workload.cluster_queue)
    if cq is None or workload.key not in cq.holding or now == workload.charges:
        workload.charges = now
        return
    counted = workload.key not in cq.tree.leaving
    remove_usage(cq.node, workload.charges)
    if counted:
        count_usage_by_priority(cq, workload, -1)
    if state.budgets:
        budgets.charge_meters(state, cq.name, workload.charges, -1)
        budgets.charge_meters(state, cq.name, now, 1)
    workload.charges = now
    add_usage(cq.node, now)
    if counted:
        count_usage_by_priority(cq, workload, 1)
    if workload.elastic and any(
        assignment.topology is not None for assignment in workload.assignment
    ):
        cluster.charge_placement(state, workload)
        wake_topology_trees(state)
    mark_quota_freed(state, cq, outside=True)


def _advance_generation(state: State, cluster_queue: str) -> None:
    """Note that the workloads with quota in a ClusterQueue changed; kueue mode only."""
    if state.requeue.by_event and cluster_queue in state.objects.cluster_queues:
        state.generations[cluster_queue] = state.seq  # see ``tidegate.core.quota.generations``


def mark_quota_freed(
    state: State, cq: ClusterQueueState, *, outside: bool, expected: bool = False
) -> None:
    """Note that a ClusterQueue's quota was freed: parked workloads of its tree may fit now.

    ``expected``: cycles had shown the tree without that usage already.
    """
    tree = cq.tree
    _advance_generation(state, cq.name)
    tree.left_seq = state.seq
    if outside:
        cq.outside_seq = tree.outside_seq = state.seq
    if expected:
        mark_dirty(state, cq.tree)
    else:
        record_usage_change(state, cq)
    if state.requeue.by_event:
        queue_inadmissible_workloads(state, tree)


def wake_topology_trees(state: State) -> None:
    """Note that nodes changed or have capacity again: workloads that lacked nodes may fit now."""
    for tree in forest(state).topology_trees:
        tree.left_seq = state.seq
        invalidate_tree(state, tree)
        if state.requeue.by_event:
            queue_inadmissible_workloads(state, tree)


def mark_evicting(state: State, workload: Workload) -> ClusterQueueState | None:
    """Note that a workload with quota is being evicted; return its ClusterQueue's state."""
    cq = forest(state).cluster_queues.get(workload.cluster_queue)
    if cq is not None and workload.key in cq.holding:
        if workload.key not in cq.tree.leaving:
            count_usage_by_priority(cq, workload, -1)
        cq.leaving[workload.key] = cq.tree.leaving[workload.key] = workload
        cluster.update_rank(state, workload, leaves=True)
        record_usage_change(state, cq)
        invalidate_topology_trees(state, workload.assignment)
    return cq


def end_intent(state: State, preemptor: str) -> None:
    """End a preemptor's intent, and queue its victims again."""
    intent = state.intents.pop(preemptor, None)
    if intent is None:
        return
    cq = forest(state).cluster_queues.get(intent.cluster_queue)
    count_intent_usage(state.forest, intent, -1)
    for victim in intent.victims:
        workload = state.workloads.get(victim.workload)
        if workload is not None and workload.made_way_for == preemptor:
            workload.made_way_for = ""
            enqueue(state, workload)
    if cq is not None:
        record_usage_change(state, cq)
    invalidate_topology_trees(state, intent.assignment)


def record_start(state: State, workload: Workload) -> None:
    """Note that a workload with quota may run: it is a later candidate than one that may not."""
    cq = forest(state).cluster_queues.get(workload.cluster_queue)
    if cq is not None and (sums := cq.tree.node_sums.get(id(cq.node))):
        sums.in_order.clear()


def update_checkpoint(state: State, workload: Workload) -> None:
    """Note a job's checkpoint time if it is later than the known one; at most the current time."""
    recorded_us = min(workload.state.checkpoint_us, state.now_us)
    if recorded_us <= workload.checkpoint_us:
        return
    workload.checkpoint_us = recorded_us
    holder = state.workloads.get(workload.acting, workload)
    cq = forest(state).cluster_queues.get(holder.cluster_queue)
    if cq is not None and holder.key in cq.holding:
        record_usage_change(state, cq)


def deactivate(state: State, workload: Workload, reason: str) -> None:
    """Deactivate a workload: it leaves its queue, and its backoff and run time start again.

    A variant that only makes way for its siblings keeps its backoff and run time.
    """
    dequeue(state, workload)
    workload.phase, workload.pending_status = "inactive", None
    deadlines.clear(state, f"requeue/{workload.key}")
    if reason != DEACTIVATED:
        workload.requeue_after_us = workload.requeue_count = workload.executed_us = 0


def update_priority(state: State, workload: Workload, *, needs_class: bool = False) -> None:
    """Compute a workload's priority; if it changed, queue it again or update it as a candidate.

    One that ``needs_class`` waits until the class that it names is there.
    """
    if needs_class:
        workload.class_known = _has_priority_class(state, workload)
    priority, never = _priority_of(state, workload)
    class_appeared = not workload.class_known and _has_priority_class(state, workload)
    if (priority, never) == (workload.priority, workload.never_preempts) and not class_appeared:
        return
    if class_appeared:
        workload.class_known, state.forest.to_reconcile[workload.key] = True, None
    if workload.phase in HOLDING:
        _reprioritize_candidate(state, workload, priority)
    workload.priority, workload.never_preempts = priority, never
    if workload.phase == "pending":
        workload.scan, workload.inadmissible = None, False  # of another shape
        enqueue(state, workload)


def _has_priority_class(state: State, workload: Workload) -> bool:
    """Return whether the class that gives a workload its priority is there, or it needs none."""
    own, pods = workload.priority_class, workload.pod_priority_class
    if workload.own_priority is not None or not (own or pods):
        return True
    objects = state.objects
    return own in objects.workload_priority_classes if own else pods in objects.priority_classes


def _reprioritize_candidate(state: State, workload: Workload, priority: int) -> None:
    """Change the priority of a workload with quota in its queue's sums of candidates."""
    cq = forest(state).cluster_queues.get(workload.cluster_queue)
    if cq is None:
        return
    if workload.key in cq.holding and workload.key not in cq.tree.leaving:
        count_usage_by_priority(cq, workload, -1)
        workload.priority = priority
        count_usage_by_priority(cq, workload, 1)
        cluster.update_rank(state, workload)
    record_usage_change(state, cq)
    cq.outside_seq = cq.tree.outside_seq = state.seq
    if state.requeue.by_event:
        _advance_generation(state, cq.name)
        queue_inadmissible_workloads(state, cq.tree)


def _priority_of(state: State, workload: Workload) -> tuple[int, bool]:
    """Return the priority, boost included, and whether its class has preemptionPolicy Never."""
    value, never = _class_priority(state, workload)
    if gate_enabled(state.policy, "PriorityBoost"):
        value += workload.priority_boost
    return value, never


def _class_priority(state: State, workload: Workload) -> tuple[int, bool]:
    classes = state.objects.priority_classes
    priority_class = (
        classes.get(workload.pod_priority_class) if workload.pod_priority_class else None
    )
    if workload.own_priority is not None:
        return workload.own_priority, priority_class is not None and priority_class.never_preempts
    if workload.priority_class:
        named = state.objects.workload_priority_classes.get(workload.priority_class)
        return (workload.priority if named is None else named.value), False
    if workload.pod_priority_class:
        return (
            (workload.priority, False)
            if priority_class is None
            else (priority_class.value, priority_class.never_preempts)
        )
    defaults = [cls for cls in classes.values() if cls.is_default]
    if not defaults:
        return 0, False
    lowest = min(defaults, key=lambda priority_class: (priority_class.value, priority_class.name))
    return lowest.value, lowest.never_preempts
