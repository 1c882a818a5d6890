"""Folds definitions of queues, cohorts, flavors, classes, namespaces, and the policy."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from tidegate.contracts.decision_kinds.queues import BudgetDecision, ClusterQueueReleased
from tidegate.contracts.fact_kinds.definitions import (
    CheckDefined,
    CheckRemoved,
    ClusterQueueDefined,
    ClusterQueueRemoved,
    CohortDefined,
    CohortRemoved,
    FlavorDefined,
    FlavorRemoved,
    LimitRangeDefined,
    LimitRangeRemoved,
    LocalQueueDefined,
    LocalQueueRemoved,
    NamespaceDefined,
    NamespaceRemoved,
    PolicyConfigured,
    PriorityClassDefined,
    PriorityClassRemoved,
    RuntimeClassDefined,
    RuntimeClassRemoved,
    WorkloadPriorityClassDefined,
    WorkloadPriorityClassRemoved,
)
from tidegate.contracts.phases import HOLDING
from tidegate.core.folding import workload_deadlines
from tidegate.core.queueing import heads
from tidegate.core.queueing.quota_ops import update_priority
from tidegate.core.quota import generations
from tidegate.core.quota.forest import affected_trees, forest, update_forest
from tidegate.core.state.definition_kinds import fold_namespace
from tidegate.core.state.state import State, Stop, Workload

_Quota: TypeAlias = (
    ClusterQueueDefined
    | ClusterQueueRemoved
    | CohortDefined
    | CohortRemoved
    | FlavorDefined
    | FlavorRemoved
    | CheckDefined
    | CheckRemoved
)
_Class: TypeAlias = (
    WorkloadPriorityClassDefined
    | WorkloadPriorityClassRemoved
    | PriorityClassDefined
    | PriorityClassRemoved
)
_PodDefinition: TypeAlias = (
    NamespaceDefined
    | NamespaceRemoved
    | LimitRangeDefined
    | LimitRangeRemoved
    | RuntimeClassDefined
    | RuntimeClassRemoved
)
DefinitionEvent: TypeAlias = (
    PolicyConfigured | LocalQueueDefined | LocalQueueRemoved | _Quota | _Class | _PodDefinition
)


def apply_definition(state: State, event: DefinitionEvent) -> None:
    """Fold a definition, or the deletion of one."""
    match event:
        case PolicyConfigured():
            _fold_policy(state, event)
        case LocalQueueDefined() | LocalQueueRemoved():
            _fold_local_queue(state, event)
        case WorkloadPriorityClassDefined() | WorkloadPriorityClassRemoved():
            _fold_priority_class(state, event)
        case PriorityClassDefined() | PriorityClassRemoved():
            _fold_priority_class(state, event)
        case NamespaceDefined() | NamespaceRemoved() | LimitRangeDefined() | LimitRangeRemoved():
            _fold_pod_definition(state, event)
        case RuntimeClassDefined() | RuntimeClassRemoved():
            _fold_pod_definition(state, event)
        case _:
            _fold_quota(state, event)


def _fold_policy(state: State, event: PolicyConfigured) -> None:
    state.policy = event.policy
    state.redefined_seq = state.seq
    state.forest.stale = state.forest.topologies.stale = True
    _invalidate_requests(state, list(state.workloads.values()))
    workload_deadlines.reset_all_deadlines(state)


def _fold_quota(state: State, event: _Quota) -> None:  # noqa: C901 - an arm an event
    objects = state.objects
    if isinstance(event, FlavorDefined) and _is_new_price(objects.flavors.get(event.name), event):
        objects.flavors[event.name] = event
        return
    match event:
        case ClusterQueueDefined():
            _record_stop(state, event.name, objects.cluster_queues.get(event.name), event)
            objects.cluster_queues[event.name] = event
            objects.removed_queues.pop(event.name, None)
            objects.elsewhere.pop(event.name, None)
        case ClusterQueueRemoved():
            _remove_queue(state, event.name)
            state.readiness.pop(event.name, None)
            state.sticky.pop(event.name, None)
            state.generations.pop(event.name, None)
        case CohortDefined():
            objects.cohorts[event.name] = event
        case CohortRemoved():
            objects.cohorts.pop(event.name, None)
        case FlavorDefined():
            objects.flavors[event.name] = event
            state.forest.topologies.stale = True
        case FlavorRemoved():
            objects.flavors.pop(event.name, None)
            state.forest.topologies.stale = True
        case CheckDefined():
            objects.checks[event.name] = event
        case CheckRemoved():
            objects.checks.pop(event.name, None)
        case _:
            assert_never(event)
    rebuild_forest(state, event)


def _is_new_price(before: FlavorDefined | None, event: FlavorDefined) -> bool:
    """Tell whether only a flavor's price has changed: no decision depends on that."""
    return before is not None and before.spec == event.spec


def _record_stop(
    state: State,
    key: str,
    before: ClusterQueueDefined | LocalQueueDefined | None,
    event: ClusterQueueDefined | LocalQueueDefined,
) -> None:
    """Note the author and time of a new stopPolicy; other changes of the queue keep them."""
    policy, stops = event.spec.stop_policy, state.objects.stops
    if policy == "None":
        stops.pop(key, None)
    elif before is None or before.spec.stop_policy != policy:
        stops[key] = Stop(at_us=event.at_us, by=event.author)


def _remove_queue(state: State, name: str) -> None:
    """Remove a ClusterQueue, but keep its quota while workloads are charged to it."""
    cq = forest(state).cluster_queues.get(name)
    defined = state.objects.cluster_queues.pop(name, None)
    state.objects.stops.pop(name, None)
    state.objects.elsewhere.pop(name, None)
    if cq is not None and cq.holding and defined is not None:
        state.objects.removed_queues[name] = defined


def rebuild_forest(state: State, event: _Quota | ClusterQueueReleased | BudgetDecision) -> None:
    """Rebuild the forest and wake trees: a definition has changed, or a budget opens or closes."""
    state.redefined_seq, before = state.seq, state.forest
    if not state.workloads:
        state.forest.stale = True
        return
    update_forest(state)
    generations.update_generations(state, event, before, state.forest)
    if isinstance(event, ClusterQueueDefined | ClusterQueueRemoved):
        _requeue_cluster_queue(state, event.name)
    for tree in affected_trees(state, event) if state.requeue.by_event else ():
        heads.queue_inadmissible_workloads(state, tree)


def _requeue_cluster_queue(state: State, cluster_queue: str) -> None:
    """Queue the workloads of a ClusterQueue's LocalQueues again: it was defined or removed."""
    for key, local in state.objects.local_queues.items():
        if local.spec.cluster_queue == cluster_queue:
            _requeue_local_queue(state, key)
    cq = state.forest.cluster_queues.get(cluster_queue)
    if cq is None or cluster_queue not in state.objects.cluster_queues:
        return
    state.forest.to_reconcile.update(dict.fromkeys(cq.holding))
    workload_deadlines.reset_queue_deadlines(state, cq)


def _fold_local_queue(state: State, event: LocalQueueDefined | LocalQueueRemoved) -> None:
    key = f"{event.namespace}/{event.name}"
    match event:
        case LocalQueueDefined():
            _record_stop(state, key, state.objects.local_queues.get(key), event)
            state.objects.local_queues[key] = event
        case LocalQueueRemoved():
            state.objects.local_queues.pop(key, None)
            state.objects.stops.pop(key, None)
            state.local_usage.pop(key, None)
        case _:
            assert_never(event)
    _requeue_local_queue(state, key)


def _requeue_local_queue(state: State, local_queue: str) -> None:
    """Queue a LocalQueue's pending workloads in its ClusterQueue; those with quota stay charged."""
    cluster_queue = state.objects.queue_of(local_queue)
    for key in list(state.by_queue.get(local_queue, ())):
        workload = state.workloads[key]
        if workload.phase in HOLDING:
            state.forest.to_reconcile[key] = None
        elif workload.phase == "pending":
            state.forest.to_reconcile[key] = None
            requeue_pending(state, workload, cluster_queue)
        elif workload.phase == "parent":
            state.forest.to_reconcile[key] = None
            workload.cluster_queue = cluster_queue


def requeue_pending(state: State, workload: Workload, cluster_queue: str) -> None:
    """Queue a pending workload in a ClusterQueue, which need not exist."""
    heads.dequeue(state, workload)
    if workload.cluster_queue != cluster_queue:
        heads.clear_sticky(state, workload)
        workload.cluster_queue, workload.inadmissible = cluster_queue, False
    heads.enqueue(state, workload)


def _fold_priority_class(state: State, event: _Class) -> None:
    objects = state.objects
    match event:
        case WorkloadPriorityClassDefined():
            objects.workload_priority_classes[event.name] = event
        case WorkloadPriorityClassRemoved():
            objects.workload_priority_classes.pop(event.name, None)
        case PriorityClassDefined():
            objects.priority_classes[event.name] = event
        case PriorityClassRemoved():
            objects.priority_classes.pop(event.name, None)
        case _:
            assert_never(event)
    if isinstance(event, WorkloadPriorityClassDefined | PriorityClassDefined):
        for workload in state.workloads.values():
            if workload.phase != "finished" and _has_class(workload, event):
                update_priority(state, workload)


def _has_class(workload: Workload, event: _Class) -> bool:
    if isinstance(event, WorkloadPriorityClassDefined):
        return workload.priority_class == event.name
    if workload.priority_class:
        return False
    return workload.pod_priority_class in (event.name, "")


def _fold_pod_definition(state: State, event: _PodDefinition) -> None:
    objects = state.objects
    key = f"{event.namespace}/{event.name}"
    match event:
        case NamespaceDefined() | NamespaceRemoved():
            fold_namespace(objects, event)
        case LimitRangeDefined():
            objects.limit_ranges[key] = event
        case LimitRangeRemoved():
            objects.limit_ranges.pop(key, None)
        case RuntimeClassDefined():
            objects.runtime_classes[event.name] = event
        case RuntimeClassRemoved():
            objects.runtime_classes.pop(event.name, None)
        case _:
            assert_never(event)
    _invalidate_affected(state, event)


def _invalidate_affected(state: State, event: _PodDefinition) -> None:
    match event:
        case NamespaceDefined() | NamespaceRemoved():
            namespace = event.name
        case LimitRangeDefined() | LimitRangeRemoved():
            namespace = event.namespace
            state.forest.topologies.stale = True  # the amounts that pods use of nodes change, too
        case _:
            namespace = ""  # pods of any namespace may have a RuntimeClass
            state.forest.topologies.stale = True
    workloads = [
        workload
        for workload in state.workloads.values()
        if not namespace or workload.key.partition("/")[0] == namespace
    ]
    _invalidate_requests(state, workloads)


def _invalidate_requests(state: State, workloads: list[Workload]) -> None:
    state.forest.pods.clear()
    for workload in workloads:
        workload.requests = None
        if workload.phase == "reserved":
            state.forest.to_reconcile[workload.key] = None  # it may have lost its right to start
        if workload.phase == "pending":
            workload.inadmissible = False
            heads.enqueue(state, workload)
            cq = state.forest.cluster_queues.get(workload.cluster_queue)
            if cq is not None:
                cq.tree.stamp += 1
