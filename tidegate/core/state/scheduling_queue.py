"""What the next cycle looks at: shapes that are offered or parked, and trees that changed."""

from __future__ import annotations

from heapq import heappop, heappush

from tidegate.core.quota.tree import Node
from tidegate.core.state.cluster_queues import ClusterQueueState, Tree
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Shape
from tidegate.model.podset import PodSetAssignment

EMPTY_SHAPES_MAX = 64
"""How many shapes without a workload a ClusterQueue may remember beyond one for each other."""


def first_workload(shape: Shape) -> Workload | None:
    """Return a shape's first workload, parked or not."""
    heap = shape.heap
    while heap:
        rank, workload = heap[0]
        if workload.shape is shape and workload.rank is rank:
            return workload
        heappop(heap)
    return None


def drop_empty_shapes(cq: ClusterQueueState) -> None:
    """Drop the shapes that no workload has any more, and their watches.

    A parked one stays: a workload that comes with that shape is parked, too, until the next event.
    """
    shapes = cq.shapes
    for key, shape in list(shapes.items()):
        if not shape.inadmissible and first_workload(shape) is None:
            shape.watch = shape.named = None
            del shapes[key]
    cq.shapes_max = 2 * len(shapes) + EMPTY_SHAPES_MAX


def set_inadmissible(shape: Shape) -> None:
    """Park a shape until its tree is woken."""
    shape.inadmissible = True


def set_aside(cq: ClusterQueueState, workload: Workload, *, others: bool) -> None:
    """Do not offer a workload's shape until something in its tree changes.

    A StrictFIFO queue offers no workload behind it either, unless ``others``.
    """
    shape = workload.shape
    assert shape is not None
    if cq.spec.strategy == "StrictFIFO" and not others:
        cq.blocked = workload.rank
    else:
        shape.inadmissible = True


def is_offered(cq: ClusterQueueState, shape: Shape) -> bool:
    """Tell whether a shape that was set aside is offered again."""
    if cq.spec.strategy == "StrictFIFO":
        return cq.blocked is None
    return not shape.inadmissible


def requeue_shape(cq: ClusterQueueState, shape: Shape) -> None:
    """Offer a shape again, so that its first workload is nominated; keeps its watches."""
    if cq.spec.strategy == "StrictFIFO":
        cq.blocked = None
    if not shape.inadmissible:
        return
    shape.inadmissible = False
    top = first_workload(shape)
    if top is None:
        cq.shapes.pop(shape.key, None)
    else:
        heappush(cq.heap, (top.rank, shape))


def unpark(cq: ClusterQueueState, shape: Shape) -> None:
    """Offer a shape again and drop its watches: why it could not start is not known any more."""
    shape.watch = shape.named = None
    requeue_shape(cq, shape)


def mark_dirty(state: State, tree: Tree) -> None:
    """Let the next cycle run on a tree: its pending workloads, or their reasons, changed."""
    if not tree.dirty:
        tree.dirty = True
        state.forest.dirty.append(tree)


def invalidate_tree(state: State, tree: Tree) -> None:
    """Mark a tree dirty: which workloads may start or preempt may have changed."""
    tree.stamp += 1
    mark_dirty(state, tree)


def record_usage_change(state: State, cq: ClusterQueueState) -> None:
    """Note that the usage of a ClusterQueue, or the workloads that have it, changed."""
    node: Node | None = cq.node
    while node is not None:
        node.version += 1
        node = node.parent
    invalidate_tree(state, cq.tree)


def invalidate_topology_trees(state: State, assignment: tuple[PodSetAssignment, ...]) -> None:
    """Mark trees with topologies dirty if an assignment places pods: trees may share nodes."""
    if any(podset.topology is not None for podset in assignment):
        for tree in state.forest.topology_trees:
            invalidate_tree(state, tree)
