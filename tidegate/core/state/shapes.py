"""The first workload of a shape, and how shapes are parked and offered again."""

from __future__ import annotations

from heapq import heappop, heappush

from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import Workload
from tidegate.core.state.workload import Shape


def first_of(shape: Shape) -> Workload | None:
    """Return a shape's first workload, parked or not."""
    heap = shape.heap
    while heap:
        rank, workload = heap[0]
        if workload.shape is shape and workload.rank is rank:
            return workload
        heappop(heap)
    return None


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


def reconsider(cq: ClusterQueueState, shape: Shape) -> None:
    """Offer a shape again, so that its first workload is nominated; keeps its watches."""
    if cq.spec.strategy == "StrictFIFO":
        cq.blocked = None
    if not shape.inadmissible:
        return
    shape.inadmissible = False
    top = first_of(shape)
    if top is None:
        cq.shapes.pop(shape.key, None)
    else:
        heappush(cq.heap, (top.rank, shape))


def unpark(cq: ClusterQueueState, shape: Shape) -> None:
    """Offer a shape again and drop its watches: why it could not start is not known any more."""
    shape.watch = shape.named = None
    reconsider(cq, shape)
