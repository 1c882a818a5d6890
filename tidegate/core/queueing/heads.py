"""Which pending workload each ClusterQueue offers as its head, and which are parked.

Each shape has a heap of its pending workloads. A shape that does not fit is parked as a whole,
which costs the same for one workload as for ten thousand. Their order is total: priority, then
time, then uid, then key.

Source: behaviour.md 0 (queue-order timestamp), 2; conformance/queue-order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from decimal import Decimal
from functools import partial
from heapq import heapify, heappop, heappush

from tidegate.contracts.queue_order import queue_order_us, reason_counts
from tidegate.core.queueing import admission_fair_sharing
from tidegate.core.queueing.admissibility import is_listed, is_namespace_selected, may_be_queued
from tidegate.core.queueing.displaced import add_displaced, drop_displaced
from tidegate.core.quota.charging import shape_key
from tidegate.core.quota.forest import forest
from tidegate.core.state.cluster_queues import ClusterQueueState, Tree
from tidegate.core.state.scheduling_queue import (
    drop_empty_shapes,
    first_workload,
    mark_dirty,
    unpark,
)
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Rank, Shape
from tidegate.model.podset import LabelSelector
from tidegate.model.policy import Policy

OUTDATED_MAX = 1_024
"""How many outdated entries a heap may hold beyond one for each valid entry."""
_NO_USAGE = Decimal(0)


def head(state: State, cluster_queue: str) -> Workload | None:
    """Return the workload that a ClusterQueue offers next, or None."""
    cq = forest(state).cluster_queues.get(cluster_queue)
    return None if cq is None else head_of(state, cq)


def head_of(state: State, cq: ClusterQueueState) -> Workload | None:
    """Return a ClusterQueue's first workload that is not parked, or None; changes no order."""
    if not cq.heap:
        return None
    if admission_fair_sharing.orders_by_usage(state, cq.spec):
        return _head_by_usage(state, cq)
    if state.sticky and (stuck := _sticky_workload(state, cq)) is not None:
        return stuck
    heap = cq.heap
    while heap:
        head_rank, shape = heap[0]
        top = first_workload(shape)
        if top is not None and not shape.inadmissible:
            if top.rank is head_rank:
                return None if head_rank is cq.blocked else top
            heappush(heap, (top.rank, shape))
        heappop(heap)
    return None


def queue_order_time(policy: Policy, workload: Workload) -> int:
    """Return the time since which a workload counts as waiting, UTC microseconds.

    That is its creation, or its eviction if its pods were not ready in time or a check said Retry.
    """
    return queue_order_us(workload, partial(reason_counts, policy))


def queue_rank(policy: Policy, workload: Workload) -> Rank:
    """Return a workload's order in its queue; the lowest is first."""
    since_us = queue_order_time(policy, workload)
    return (-workload.priority, since_us, workload.uid, workload.key)


def offer_key(
    state: State, cq: ClusterQueueState, workloads: Collection[Workload]
) -> Callable[[Workload], tuple[Decimal, bool, Rank]]:
    """Return the sort key by which a ClusterQueue offers workloads; the lowest is first.

    That is by usage of LocalQueues where it orders, then a sticky preemptor, then by rank.
    """
    by_usage = admission_fair_sharing.orders_by_usage(state, cq.spec)
    usages = admission_fair_sharing.usage_by_local_queue(state, workloads if by_usage else ())
    stuck = state.sticky.get(cq.name) if cq.spec.strategy == "BestEffortFIFO" else None

    def order_key(workload: Workload) -> tuple[Decimal, bool, Rank]:
        usage = usages.get(workload.local_queue, _NO_USAGE)
        return usage, workload.key != stuck, queue_rank(state.policy, workload)

    return order_key


def is_behind_preemption(state: State, cq: ClusterQueueState, workload: Workload) -> bool:
    """Tell whether a workload of a StrictFIFO queue is behind one that waits for a preemption.

    A preemptor that waits for its victims, or a victim that waits for its preemptor, is offered to
    no cycle, and yet it is the queue's head. Costs O(intents).
    """
    if cq.spec.strategy != "StrictFIFO" or state.requeue.by_event:
        return False
    place = queue_rank(state.policy, workload)
    for intent in state.intents.values():
        for key in (intent.workload, *(victim.workload for victim in intent.victims)):
            other = cq.waiting.get(key)
            if other is None or intent.workload not in (key, other.made_way_for):
                continue
            if queue_rank(state.policy, other) < place:
                return True
    return False


def enqueue(state: State, workload: Workload) -> None:
    """Queue a workload by its phase: offered, waiting beside the heap, or not at all."""
    dequeue(state, workload)
    if workload.phase != "pending":
        return
    cq = forest(state).cluster_queues.get(workload.cluster_queue)
    if cq is None:
        return
    is_offered = may_be_offered(state, workload)
    if is_offered or workload.made_way_for or workload.key in state.intents:
        add_displaced(state, cq, workload)
    if is_offered:
        _push_workload(state, cq, workload)
        return
    cq.waiting[workload.key] = workload
    if state.sticky and not is_listed(state, workload):
        clear_sticky(state, workload)


def clear_sticky(state: State, workload: Workload) -> None:
    """Remove a workload's right to sort first in its ClusterQueue as a preemptor."""
    if state.sticky.get(workload.cluster_queue) == workload.key:
        del state.sticky[workload.cluster_queue]


def dequeue(state: State, workload: Workload) -> None:
    """Take a workload out of its queue; does nothing if it is in none."""
    if state.forest.requeued is not None:
        state.forest.requeued.append(workload)
    shape, cq = workload.shape, state.forest.cluster_queues.get(workload.cluster_queue)
    if cq is None:
        workload.shape = None
        return
    cq.waiting.pop(workload.key, None)
    drop_displaced(state, cq, workload)
    first = shape is not None and shape.heap and shape.heap[0][1] is workload
    workload.shape = None
    if first and shape is not None:
        shape.explained = False
        if not state.requeue.by_event:
            unpark(cq, shape)  # its next workload was not nominated yet
        mark_dirty(state, cq.tree)


def may_be_offered(state: State, workload: Workload) -> bool:
    """Tell whether a pending workload may be tried at all, whatever quota there is."""
    if workload.inadmissible or workload.made_way_for or workload.key in state.intents:
        return False
    if workload.requeue_reason or (workload.requeue_after_us and _is_backing_off(state, workload)):
        return False
    return may_be_queued(state, workload)


def _is_backing_off(state: State, workload: Workload) -> bool:
    """Tell whether a backoff's deadline has not been handled yet, whatever the time is.

    Time moves with every fact, but only a heartbeat ends a backoff: a state rebuilt in between,
    such as from a snapshot, must give the same answer as one that was not.
    """
    key = f"requeue/{workload.key}"
    return key in state.deadlines.at or key in state.deadlines.due


def queue_inadmissible_workloads(state: State, tree: Tree) -> None:
    """Offer all parked workloads of a tree's ClusterQueues again.

    Kueue leaves those aside whose namespace a ClusterQueue does not select.
    """
    for cq in tree.cluster_queues:
        cq.blocked = None
        if state.requeue.by_event and cq.spec.namespace_selector != LabelSelector():
            _park_unselected(state, cq)
        for shape in list(cq.shapes.values()):
            unpark(cq, shape)
        for workload in [workload for workload in cq.waiting.values() if workload.inadmissible]:
            if not state.requeue.by_event or is_namespace_selected(state, workload):
                workload.inadmissible = False
                enqueue(state, workload)


def _park_unselected(state: State, cq: ClusterQueueState) -> None:
    """Park workloads whose namespace a ClusterQueue does not select without their shape."""
    parked = [shape for shape in cq.shapes.values() if shape.inadmissible]
    for workload in [workload for shape in parked for workload in _shape_workloads(shape)]:
        if not is_namespace_selected(state, workload):
            workload.inadmissible = True
            enqueue(state, workload)


def pending_keys(state: State, cluster_queue: str) -> tuple[list[str], list[str]]:
    """Return the keys of a ClusterQueue's active and of its inadmissible workloads, sorted."""
    cq = forest(state).cluster_queues.get(cluster_queue)
    if cq is None:
        return [], []
    active = [
        workload.key
        for shape in cq.shapes.values()
        if not shape.inadmissible
        for workload in _shape_workloads(shape)
    ]
    parked = [
        workload.key
        for shape in cq.shapes.values()
        if shape.inadmissible
        for workload in _shape_workloads(shape)
    ]
    return sorted(active), sorted([*parked, *cq.waiting])


def queued_ranks(cq: ClusterQueueState) -> list[Rank]:
    """Return the ranks of workloads in a ClusterQueue's heaps, parked or not; in no order."""
    return [workload.rank for shape in cq.shapes.values() for workload in _shape_workloads(shape)]


def _shape_workloads(shape: Shape) -> list[Workload]:
    return [
        workload
        for head_rank, workload in shape.heap
        if workload.shape is shape and workload.rank is head_rank
    ]


def _push_workload(state: State, cq: ClusterQueueState, workload: Workload) -> None:
    key = shape_key(state, workload) + _local_queue_key(state, cq, workload)
    shape = cq.shapes.get(key)
    workload.rank = queue_rank(state.policy, workload)
    entry = workload.rank, workload
    if shape is None:
        if len(cq.shapes) >= cq.shapes_max:
            drop_empty_shapes(cq)
        shape = cq.shapes[key] = Shape(key=key, heap=[entry])  # the smallest list
    else:
        heappush(shape.heap, entry)
    workload.shape = shape
    if first_workload(shape) is workload:
        shape.explained, shape.watch = False, None
        if not shape.inadmissible:
            heappush(cq.heap, (workload.rank, shape))
        elif not state.requeue.by_event:
            unpark(cq, shape)
    if len(cq.heap) > 2 * len(cq.shapes) + OUTDATED_MAX:
        _rebuild_heap(cq)
    mark_dirty(state, cq.tree)


def _local_queue_key(state: State, cq: ClusterQueueState, workload: Workload) -> bytes:
    """Return the LocalQueue's part of a shape key: ordered by usage, each has its own head."""
    if state.requeue.by_event:
        return b""
    by_usage = admission_fair_sharing.orders_by_usage(state, cq.spec)
    return workload.local_queue.encode() if by_usage else b""


def _rebuild_heap(cq: ClusterQueueState) -> None:
    """Rebuild a ClusterQueue's heap with one entry for each shape that is not parked."""
    tops = (
        (first_workload(shape), shape) for shape in cq.shapes.values() if not shape.inadmissible
    )
    cq.heap = [(top.rank, shape) for top, shape in tops if top is not None]
    heapify(cq.heap)


def _sticky_workload(state: State, cq: ClusterQueueState) -> Workload | None:
    key = state.sticky.get(cq.name)
    workload = None if key is None else state.workloads.get(key)
    if workload is None or cq.spec.strategy != "BestEffortFIFO":
        return None
    shape = workload.shape
    return workload if shape is not None and not shape.inadmissible else None


def _head_by_usage(state: State, cq: ClusterQueueState) -> Workload | None:
    shapes = [shape for shape in cq.shapes.values() if not shape.inadmissible]
    stuck = _sticky_workload(state, cq) if state.sticky else None
    if state.requeue.by_event:
        workloads = [workload for shape in shapes for workload in _shape_workloads(shape)]
    else:  # here alone, all of a shape are of one LocalQueue: the first of each counts
        firsts = (first_workload(shape) for shape in shapes)
        workloads = [top for top in (*firsts, stuck) if top is not None]

    least = min(workloads, key=offer_key(state, cq, workloads), default=None)
    return None if least is None or least.rank is cq.blocked else least
