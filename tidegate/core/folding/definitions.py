"""How definitions of queues, cohorts, flavors, classes and namespaces change the draft."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from tidegate.contracts.definitions import (
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
from tidegate.core import timing
from tidegate.core.draft import Draft, Workload
from tidegate.core.forest import HOLDING, forest
from tidegate.core.heads import leave, place, wake
from tidegate.core.priorities import resolve

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
_Place: TypeAlias = (
    NamespaceDefined
    | NamespaceRemoved
    | LimitRangeDefined
    | LimitRangeRemoved
    | RuntimeClassDefined
    | RuntimeClassRemoved
)
DefinitionEvent: TypeAlias = (
    PolicyConfigured | LocalQueueDefined | LocalQueueRemoved | _Quota | _Class | _Place
)


def apply_definition(draft: Draft, event: DefinitionEvent) -> None:
    """Fold a definition, or that one is gone."""
    match event:
        case PolicyConfigured():
            _configure(draft, event)
        case LocalQueueDefined() | LocalQueueRemoved():
            _fold_local_queue(draft, event)
        case WorkloadPriorityClassDefined() | WorkloadPriorityClassRemoved():
            _fold_class(draft, event)
        case PriorityClassDefined() | PriorityClassRemoved():
            _fold_class(draft, event)
        case NamespaceDefined() | NamespaceRemoved() | LimitRangeDefined() | LimitRangeRemoved():
            _fold_place(draft, event)
        case RuntimeClassDefined() | RuntimeClassRemoved():
            _fold_place(draft, event)
        case _:
            _fold_quota(draft, event)


def _configure(draft: Draft, event: PolicyConfigured) -> None:
    draft.policy = event.policy
    draft.redefined_seq = draft.seq
    draft.forest.stale = True
    _requests_changed(draft, list(draft.workloads.values()))
    timing.follow_policy(draft)


def _fold_quota(draft: Draft, event: _Quota) -> None:  # noqa: C901 - an arm an event
    kept = draft.objects
    match event:
        case ClusterQueueDefined():
            kept.cluster_queues[event.name] = event
        case ClusterQueueRemoved():
            kept.cluster_queues.pop(event.name, None)
            draft.readiness.pop(event.name, None)
            draft.sticky.pop(event.name, None)
        case CohortDefined():
            kept.cohorts[event.name] = event
        case CohortRemoved():
            kept.cohorts.pop(event.name, None)
        case FlavorDefined():
            kept.flavors[event.name] = event
        case FlavorRemoved():
            kept.flavors.pop(event.name, None)
        case CheckDefined():
            kept.checks[event.name] = event
        case CheckRemoved():
            kept.checks.pop(event.name, None)
        case _:
            assert_never(event)
    _redefined(draft, event)


def _redefined(draft: Draft, event: _Quota) -> None:
    draft.redefined_seq = draft.seq
    draft.forest.stale = True
    if not draft.workloads:
        return
    trees = forest(draft)
    if isinstance(event, ClusterQueueDefined | ClusterQueueRemoved):
        _follow_queue(draft, event.name)
    for tree in trees.trees:  # what changed elsewhere in the forest cannot make anything fit here
        names = (room.name for room in tree.rooms)
        if isinstance(event, ClusterQueueDefined) and event.name not in names:
            continue
        wake(draft, tree)


def _follow_queue(draft: Draft, cluster_queue: str) -> None:
    """Lead the workloads of a ClusterQueue's LocalQueues to it, or away if it is gone."""
    for key, local in draft.objects.local_queues.items():
        if local.spec.cluster_queue == cluster_queue:
            _lead(draft, key)
    spec = draft.objects.cluster_queues.get(cluster_queue)
    room = draft.forest.rooms.get(cluster_queue)
    if room is None or spec is None:
        return
    draft.forest.agenda.update(dict.fromkeys(room.holding))
    timing.follow_queue(draft, room)


def _fold_local_queue(draft: Draft, event: LocalQueueDefined | LocalQueueRemoved) -> None:
    key = f"{event.namespace}/{event.name}"
    match event:
        case LocalQueueDefined():
            draft.objects.local_queues[key] = event
        case LocalQueueRemoved():
            draft.objects.local_queues.pop(key, None)
            draft.local_usage.pop(key, None)
        case _:
            assert_never(event)
    _lead(draft, key)


def _lead(draft: Draft, local_queue: str) -> None:
    """Put a LocalQueue's workloads where it leads now; who holds quota stays where it is."""
    defined = draft.objects.local_queues.get(local_queue)
    for key in list(draft.by_queue.get(local_queue, ())):
        workload = draft.workloads[key]
        if workload.phase in HOLDING:
            draft.forest.agenda[key] = None
        elif workload.phase == "pending":
            draft.forest.agenda[key] = None
            to_queue(draft, workload, "" if defined is None else defined.spec.cluster_queue)
        elif workload.phase == "parent":
            draft.forest.agenda[key] = None
            workload.cluster_queue = "" if defined is None else defined.spec.cluster_queue


def to_queue(draft: Draft, workload: Workload, cluster_queue: str) -> None:
    """Let a pending workload wait in a ClusterQueue; it may not exist."""
    leave(draft, workload)
    workload.cluster_queue = cluster_queue
    place(draft, workload)


def _fold_class(draft: Draft, event: _Class) -> None:
    kept = draft.objects
    match event:
        case WorkloadPriorityClassDefined():
            kept.workload_priority_classes[event.name] = event
        case WorkloadPriorityClassRemoved():
            kept.workload_priority_classes.pop(event.name, None)
        case PriorityClassDefined():
            kept.priority_classes[event.name] = event
        case PriorityClassRemoved():
            kept.priority_classes.pop(event.name, None)
        case _:
            assert_never(event)
    if isinstance(event, WorkloadPriorityClassDefined | PriorityClassDefined):
        for workload in draft.workloads.values():
            if workload.phase != "finished" and _names(workload, event):
                resolve(draft, workload)


def _names(workload: Workload, event: WorkloadPriorityClassDefined | PriorityClassDefined) -> bool:
    if isinstance(event, WorkloadPriorityClassDefined):
        return workload.priority_class == event.name
    if workload.priority_class:
        return False
    return workload.pod_priority_class in (event.name, "")


def _fold_place(draft: Draft, event: _Place) -> None:
    kept = draft.objects
    key = f"{event.namespace}/{event.name}"
    match event:
        case NamespaceDefined():
            kept.namespaces[event.name] = event
        case NamespaceRemoved():
            kept.namespaces.pop(event.name, None)
        case LimitRangeDefined():
            kept.limit_ranges[key] = event
        case LimitRangeRemoved():
            kept.limit_ranges.pop(key, None)
        case RuntimeClassDefined():
            kept.runtime_classes[event.name] = event
        case RuntimeClassRemoved():
            kept.runtime_classes.pop(event.name, None)
        case _:
            assert_never(event)
    _place_changed(draft, event)


def _place_changed(draft: Draft, event: _Place) -> None:
    match event:
        case NamespaceDefined() | NamespaceRemoved():
            namespace = event.name
        case LimitRangeDefined() | LimitRangeRemoved():
            namespace = event.namespace
        case _:
            namespace = ""  # a RuntimeClass may be anybody's
    found = [
        one
        for one in draft.workloads.values()
        if not namespace or one.key.partition("/")[0] == namespace
    ]
    _requests_changed(draft, found)


def _requests_changed(draft: Draft, workloads: list[Workload]) -> None:
    draft.forest.pods.clear()
    for workload in workloads:
        workload.requests = None
        if workload.phase == "reserved":
            draft.forest.agenda[workload.key] = None  # it may have lost its right to start
        if workload.phase == "pending":
            workload.parked = False
            place(draft, workload)
            room = draft.forest.rooms.get(workload.cluster_queue)
            if room is not None:
                room.tree.stamp += 1
