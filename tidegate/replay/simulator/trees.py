"""The part of a state that decisions about some ClusterQueues depend on: their cohort trees.

Trees are independent except for two things that they share: nodes, by flavors with a topology, and
waitForPodsReady with blockAdmission.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from typing import TypeVar

from msgspec.structs import replace

from tidegate.core.quota.forest import forest
from tidegate.core.state.cluster_queues import Forest
from tidegate.core.state.deadlines import OF_WORKLOADS, Deadlines
from tidegate.core.state.state import Objects, State, Workload

Value = TypeVar("Value")


def trees_of(state: State, cluster_queues: Collection[str]) -> State:
    """Return a state with only the ClusterQueues' trees, and all that belongs to no tree.

    A name of which there is no ClusterQueue stands for the workloads that wait for it; the empty
    one for those without a LocalQueue. The state shares its contents with the given one: use it
    only for reading and for snapshots.
    """
    names = queues_deciding_with(state, cluster_queues).union(cluster_queues)
    workloads = {
        key: workload
        for key, workload in state.workloads.items()
        if cluster_queue_of(state, workload) in names
    }
    return replace(
        state,
        objects=_objects_of(state.objects, names),
        readiness=_only_named(state.readiness, names),
        workloads=workloads,
        by_uid={uid: key for uid, key in state.by_uid.items() if key in workloads},
        by_queue={
            queue: standing
            for queue, keys in state.by_queue.items()
            if (standing := _only_named(keys, workloads.keys()))
        },
        intents=_only_named(state.intents, workloads.keys()),
        sticky=_only_named(state.sticky, names),
        deadlines=_deadlines_of(state.deadlines, workloads.keys()),
        forest=_forest_of(forest(state), names),
    )


def queues_deciding_with(state: State, cluster_queues: Collection[str]) -> frozenset[str]:
    """Return the ClusterQueues whose workloads may affect when those of the given ones start."""
    trees = forest(state)
    ready = state.policy.pods_ready
    if ready is not None and ready.block_admission:
        return frozenset(trees.cluster_queues)
    states = (trees.cluster_queues.get(name) for name in cluster_queues)
    deciding = {id(each.tree): each.tree for each in states if each is not None}
    placing = {id(tree): tree for tree in trees.topology_trees}
    if deciding.keys() & placing.keys():
        deciding |= placing
    return frozenset(each.name for tree in deciding.values() for each in tree.cluster_queues)


def cluster_queue_of(state: State, workload: Workload) -> str:
    """Return the ClusterQueue of a workload: that of its quota, else that of its LocalQueue."""
    if workload.cluster_queue:
        return workload.cluster_queue
    local = state.objects.local_queues.get(workload.local_queue)
    return "" if local is None else local.spec.cluster_queue


def _forest_of(trees: Forest, names: AbstractSet[str]) -> Forest:
    return replace(
        trees,
        cluster_queues=_only_named(trees.cluster_queues, names),
        trees=[tree for tree in trees.trees if tree.cluster_queues[0].name in names],
    )


def _objects_of(objects: Objects, names: AbstractSet[str]) -> Objects:
    """Remove other trees' queues: building them takes longer than deciding one tree."""
    others = objects.cluster_queues.keys() - names
    local_queues = {
        name: local
        for name, local in objects.local_queues.items()
        if local.spec.cluster_queue not in others
    }
    return replace(
        objects,
        cluster_queues=_only_named(objects.cluster_queues, names),
        removed_queues=_only_named(objects.removed_queues, names),
        local_queues=local_queues,
        stops=_only_named(objects.stops, {*names, *local_queues}),
    )


def _only_named(values: Mapping[str, Value], names: AbstractSet[str]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if name in names}


def _deadlines_of(deadlines: Deadlines, workloads: AbstractSet[str]) -> Deadlines:
    def is_kept(key: str) -> bool:
        family, _, subject = key.partition("/")
        return family not in OF_WORKLOADS or subject in workloads

    at = {key: at_us for key, at_us in deadlines.at.items() if is_kept(key)}
    due = {key: at_us for key, at_us in deadlines.due.items() if is_kept(key)}
    return Deadlines(heap=sorted((at_us, key) for key, at_us in at.items()), at=at, due=due)
