"""When each ClusterQueue's quota last changed, which ends the progress of older flavor scans.

Kept in kueue mode alone. A generation is the seq of the newest of these events:

- a workload of the ClusterQueue got its quota, changed while it had it, or gave it back; one of
  another ClusterQueue does not count, even in the same cohort tree;
- quotas, flavors or the cohort of a ClusterQueue changed, or a Cohort was defined or removed: for
  each ClusterQueue of its tree, and of the tree that it left.

Source: behaviour.md 3.1; notes 1 counts releases by tree, Kueue 0.19.1 counts by ClusterQueue.
"""

from __future__ import annotations

from tidegate.contracts.fact_kinds.definitions import (
    ClusterQueueDefined,
    CohortDefined,
    CohortRemoved,
)
from tidegate.core.quota.tree import root_of
from tidegate.core.state.cluster_queues import Forest
from tidegate.core.state.state import State
from tidegate.model.quota import ClusterQueueSpec


def update_generations(state: State, event: object, before: Forest, now: Forest) -> None:
    """Note which ClusterQueues' quota a definition changed, by the forests without and with it."""
    if not state.requeue.by_event:
        return
    for name in _queues_with_changed_quota(event, before, now):
        if name in state.objects.cluster_queues:
            state.generations[name] = state.seq


def _queues_with_changed_quota(event: object, before: Forest, now: Forest) -> dict[str, None]:
    """Return the names of ClusterQueues that a definition changed the quota of."""
    match event:
        case ClusterQueueDefined():
            old, new = before.cluster_queues.get(event.name), now.cluster_queues.get(event.name)
            if old is not None and new is not None and _has_same_quota(old.spec, new.spec):
                return {}
            trees = [queue.tree for queue in (old, new) if queue is not None]
        case CohortDefined() | CohortRemoved():
            cohorts = (at.cohorts.get(event.name) for at in (before, now))
            roots = [root_of(cohort) for cohort in cohorts if cohort is not None]
            trees = [tree for at in (before, now) for tree in at.trees if tree.root in roots]
        case _:
            trees = now.trees
    return {queue.name: None for tree in trees for queue in tree.cluster_queues}


def _has_same_quota(old: ClusterQueueSpec, new: ClusterQueueSpec) -> bool:
    return (old.groups, old.cohort) == (new.groups, new.cohort)
