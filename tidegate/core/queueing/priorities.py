"""Resolves a workload's effective priority from its classes, and applies changes of it.

Source: behaviour.md 0, 15.2.
"""

from __future__ import annotations

from tidegate.contracts.phases import HOLDING
from tidegate.core.queueing.heads import place, wake
from tidegate.core.quota.forest import count_usage, forest
from tidegate.core.quota.touching import move
from tidegate.core.state.state import State, Workload
from tidegate.core.topology import cluster
from tidegate.model.gates import gate


def resolve(state: State, workload: Workload) -> None:
    """Compute a workload's priority; if it changed, queue it again or update it as a candidate."""
    priority, never = _priority(state, workload)
    if (priority, never) == (workload.priority, workload.never_preempts):
        return
    if workload.phase in HOLDING:
        _revalue(state, workload, priority)
    workload.priority, workload.never_preempts = priority, never
    if workload.phase == "pending":
        workload.scan = None  # of another shape
        place(state, workload)


def _revalue(state: State, workload: Workload, priority: int) -> None:
    """Change the priority of a workload with quota in its queue's sums of candidates."""
    cq = forest(state).cluster_queues.get(workload.cluster_queue)
    if cq is None:
        return
    if workload.key in cq.holding and workload.key not in cq.tree.leaving:
        count_usage(cq, workload, -1)
        workload.priority = priority
        count_usage(cq, workload, 1)
        cluster.rank(state, workload)
    move(state, cq)
    cq.outside_seq = cq.tree.outside_seq = state.seq
    if state.requeue.by_event:
        wake(state, cq.tree)


def _priority(state: State, workload: Workload) -> tuple[int, bool]:
    """Return the priority, boost included, and whether its class has preemptionPolicy Never."""
    value, never = _of_classes(state, workload)
    if gate(state.policy, "PriorityBoost"):
        value += workload.priority_boost
    return value, never


def _of_classes(state: State, workload: Workload) -> tuple[int, bool]:
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
