"""Whom a ClusterQueue need not offer until quota comes back: workloads that watch a constraint.

A workload that fits nowhere, and may preempt nobody, violates one constraint in each flavor that it
may go to: a cell on the way to its root has too little left. It watches those cells, which keep
their watchers ordered by the usage at which each would hold. An admission wakes nobody; what comes
back wakes those whose amount is reached, who find another violated constraint, or are offered.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count as counter

from tidegate.core.flavors.assignment import grouped
from tidegate.core.flavors.fitting import IN_USE
from tidegate.core.nomination.nominate import Nominee
from tidegate.core.preemption.bounds import may_suffice
from tidegate.core.quota.charging import PODS, count, per_pod, times
from tidegate.core.quota.tree import Cell, free
from tidegate.core.state.cluster_queues import (
    ClusterQueueState,
    Constraint,
    Group,
    Shape,
    Tree,
    Watch,
)
from tidegate.core.state.shapes import first_of, unpark
from tidegate.core.state.state import State, Workload

_STALE_MAX = 64
_serial = counter()


def watch(state: State, nominee: Nominee) -> None:
    """Let a workload's shape watch what keeps it from starting, if that is quota alone."""
    cq, workload, shape = nominee.cq, nominee.workload, nominee.workload.shape
    assert shape is not None
    shape.watch = None
    short = nominee.outcome in ("no fit", "no candidates")
    if not short or cq.spec.strategy == "StrictFIFO" or workload.replaces:
        return
    beyond = _proof(state, cq, workload)
    if beyond is None:
        return
    named = _named(cq, workload)
    if _may_preempt(cq):
        shape.watch = Watch(constraints=tuple(named), beyond=tuple(beyond))
        return
    constraints = (*beyond, *named)
    shape.watch = Watch(constraints=constraints)
    for constraint in constraints:
        _place(cq, shape, constraint)


def wake(state: State, tree: Tree) -> None:
    """Offer again whoever could act, or be told something new, since a tree changed.

    To be called while the tree is as the cycle shows it.
    """
    for cq in tree.cluster_queues:
        cq.blocked = None
        for shape in list(cq.shapes.values()):
            if shape.parked and shape.aside != tree.stamp and not _rests(state, cq, shape):
                unpark(cq, shape)
    _wake_reached(tree)


def _rests(state: State, cq: ClusterQueueState, shape: Shape) -> bool:
    """Tell whether nothing has changed for a shape that is set aside."""
    token, top = shape.watch, first_of(shape)
    if token is None or top is None:
        return False
    if not token.beyond:
        return True  # it is woken by the cells that it watches
    shape.aside = cq.tree.stamp
    return not any(
        may_suffice(state, cq, top, cell, units) for cell, units in token.beyond
    ) and all(units > free(cell) for cell, units in token.constraints)


def _wake_reached(tree: Tree) -> None:
    """Offer again whoever watches a constraint of a tree that holds now."""
    for heap in list(tree.watchers.values()):  # some watch other cells from here on
        while heap and -heap[0][0] >= heap[0][2].usage:
            _, _, _, cq, shape, token, constraint = heappop(heap)
            if token is None or shape.watch is not token or not shape.parked:
                continue  # it was woken meanwhile
            if all(units > free(cell) for cell, units in token.constraints):
                _place(cq, shape, constraint)
            else:
                unpark(cq, shape)


def _may_preempt(cq: ClusterQueueState) -> bool:
    rules = cq.spec.preemption
    reclaims = rules.reclaim_within_cohort != "Never" and cq.node.parent is not None
    return reclaims or rules.within_cluster_queue != "Never"


def _named(cq: ClusterQueueState, workload: Workload) -> list[Constraint]:
    """Return the constraints that the workload was told of: it is told anew when one holds."""
    held = workload.held
    found: list[Constraint] = []
    if held is None:
        return found
    for (_, flavor, resource, said), asked in zip(held.tried, held.asked, strict=True):
        if said == IN_USE:
            group = cq.group_of[resource]
            found += ((one.cells[resource], asked) for one in group.slots if one.flavor == flavor)
    return found


def _proof(state: State, cq: ClusterQueueState, workload: Workload) -> list[Constraint] | None:
    """Return for some part of a workload a constraint that it violates in each flavor, or None."""
    each = per_pod(state, workload)
    for members in grouped(workload.podsets):
        total: dict[str, int] = {}
        for index in members:
            podset = workload.podsets[index]
            pods = count(workload, podset)
            if podset.min_count is not None:
                pods = min(pods, podset.min_count)
            asked = times(each[index], pods)
            if PODS in cq.group_of:
                asked[PODS] = pods
            for name, units in asked.items():
                total[name] = total.get(name, 0) + units
        for group in cq.groups:
            if found := _violated(state, cq, workload, group, total):
                return found
    return None


def _violated(
    state: State, cq: ClusterQueueState, workload: Workload, group: Group, asked: dict[str, int]
) -> list[Constraint]:
    """Return for each flavor of a group an amount that it has no room for, evictions included."""
    found: list[Constraint] = []
    names = [name for name in group.resources if asked.get(name) and cq.group_of[name] is group]
    for slot in group.slots:
        cells = ((slot.cells[name], asked[name]) for name in names)
        blocking = next(
            (
                (cell, units)
                for cell, units in cells
                if not may_suffice(state, cq, workload, cell, units)
            ),
            None,
        )
        if blocking is None:
            return []
        found.append(blocking)
    return found


def _place(cq: ClusterQueueState, shape: Shape, constraint: Constraint) -> None:
    """Put a watcher on each cell whose falling usage may let a violated constraint hold."""
    at, need = constraint
    while True:
        if at.local:
            _push(cq, shape, constraint, at, at.usage - 1)
            need -= max(0, at.local - at.usage)
        if at.parent is None:
            _push(cq, shape, constraint, at, at.quota - need)
            return
        if at.borrowing is not None:
            over = max(0, at.usage - at.local)
            if need > at.quota - at.local + at.borrowing - over:
                if not at.local:
                    _push(cq, shape, constraint, at, at.quota + at.borrowing - need)
                return
        at = at.parent


def _push(
    cq: ClusterQueueState, shape: Shape, constraint: Constraint, at: Cell, usage: int
) -> None:
    heap = cq.tree.watchers.setdefault(id(at), [])
    heappush(heap, (-usage, next(_serial), at, cq, shape, shape.watch, constraint))
    if len(heap) > cq.tree.watchers_max:
        heap[:] = [one for one in heap if one[4].parked and one[4].watch is one[5]]
        heapify(heap)
        cq.tree.watchers_max = max(cq.tree.watchers_max, 2 * len(heap) + _STALE_MAX)
