"""Whom a ClusterQueue need not offer until something changes: workloads that watch a constraint.

A workload that fits nowhere, whoever might be evicted for it, violates one constraint in each
flavor that it may go to: so much of a cell is not to be had. It watches those, and the constraints
that it was told of, which hold once as much is free. Each cell of a ClusterQueue keeps its watchers
ordered by amount, so that a change costs what is woken: they find another violated constraint, or
are offered. Who lacks no quota, or was searched victims for in vain, is looked at again whenever
the tree changes.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count as counter

from tidegate.core.flavors.assignment import grouped
from tidegate.core.flavors.fitting import IN_USE, Question, eligible, nobody
from tidegate.core.nomination.explain import OF_QUOTA
from tidegate.core.nomination.nominate import Nominee
from tidegate.core.preemption.bounds import Asking, may_suffice
from tidegate.core.preemption.trial import is_displaced, may_move_shares, outside_seq
from tidegate.core.quota.charging import PODS, count, per_pod, times
from tidegate.core.quota.tree import Cell, free
from tidegate.core.state.cluster_queues import (
    CellWatchers,
    ClusterQueueState,
    Constraint,
    Group,
    Rights,
    Shape,
    Tree,
    Watch,
    Watchers,
)
from tidegate.core.state.shapes import first_of, is_offered, offer, set_aside, unpark
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource
from tidegate.model.podset import PodSet

_STALE_MAX = 64
_serial = counter()


def watch(state: State, nominee: Nominee) -> None:
    """Let the shape of a workload that is set aside watch what keeps it from starting."""
    cq, workload, shape = nominee.cq, nominee.workload, nominee.workload.shape
    assert shape is not None
    shape.named = None
    shape.told = _is_told_of_quota(nominee)
    if nominee.outcome in ("no fit", "no candidates") and not workload.replaces:
        _register(state, cq, shape, workload)
    if shape.named is None:
        cq.tree.unproven.append((cq, shape))


def lacks_still(state: State, cq: ClusterQueueState, workload: Workload) -> bool:
    """Set a workload aside unseen, if it lacks again what it was told of, in each flavor.

    It was woken in an earlier cycle, and what it was woken for went to others before its turn.
    """
    shape = workload.shape
    assert shape is not None
    if not shape.told or not _register(state, cq, shape, workload):
        return False
    set_aside(cq, workload, others=False)
    return True


def wake(state: State, tree: Tree) -> None:
    """Offer again whoever could act, or be told something new, since a tree changed.

    To be called while the tree is as the cycle shows it.
    """
    unproven, tree.unproven = tree.unproven, []
    for cq, shape in unproven:
        if shape.named is not None or is_offered(cq, shape):
            continue
        if shape.aside == tree.stamp:
            tree.unproven.append((cq, shape))
        else:
            unpark(cq, shape)
    if tree.woken_at == tree.stamp:
        return
    tree.woken_at = tree.stamp
    for cq in tree.cluster_queues:
        if cq.watchers:
            _wake_queue(state, cq)


def _wake_queue(state: State, cq: ClusterQueueState) -> None:
    """Offer again whom a ClusterQueue's cells may have room for now, or who may evict again."""
    seen_seq, cq.watched_seq = cq.watched_seq, outside_seq(cq)
    for at in list(cq.watchers.values()):
        unused, heap = free(at.cell), at.named.heap
        while heap and heap[0][0] <= unused:
            _, _, shape, token = heappop(heap)
            if shape.named is token:
                offer(cq, shape)
        for rights, watchers in list(at.beyond.items()):
            if _is_given_back(cq, rights, seen_seq):
                del at.beyond[rights]
                for _, _, shape, token in watchers.heap:
                    _look(state, cq, shape, token)
            elif watchers.heap:
                _wake_reached(state, cq, at, rights)


def _is_given_back(cq: ClusterQueueState, rights: Rights, seen_seq: int) -> bool:
    """Tell whether who had lost the right to evict others may have it again since an event."""
    if rights.displaced and outside_seq(cq) > seen_seq:
        return True
    return not rights.moves and cq.outside_seq > seen_seq


def _wake_reached(state: State, cq: ClusterQueueState, at: CellWatchers, rights: Rights) -> None:
    """Look for another violated constraint for those whose amount may be had now."""
    heap = at.beyond[rights].heap
    while heap:
        units, _, shape, token = heap[0]
        top = first_of(shape) if shape.watch is token else None
        if top is not None:
            asking = Asking(state=state, cq=cq, workload=top, needs=rights.needs)
            if not may_suffice(asking, at.cell, units):
                return
        heappop(heap)
        _look(state, cq, shape, token)


def _look(state: State, cq: ClusterQueueState, shape: Shape, token: Watch) -> None:
    """Let a shape watch other constraints if it violates any, else offer it again."""
    if shape.watch is not token:
        return
    shape.watch, top = None, first_of(shape)
    if top is None or not _register(state, cq, shape, top):
        unpark(cq, shape)


def _register(state: State, cq: ClusterQueueState, shape: Shape, workload: Workload) -> bool:
    """Let a shape watch a violated constraint for each flavor, and those that it was told of.

    Tells whether there are such, and all that it was told of are violated.
    """
    named = _named(cq, workload)
    if any(units <= free(cell) for cell, units in named):
        return False
    if shape.watch is None and not _prove(state, cq, shape, workload):
        return False
    shape.named = Watch()
    for cell, units in named:
        _push(_of(cq, cell).named, units, shape, shape.named)
    return True


def _prove(state: State, cq: ClusterQueueState, shape: Shape, workload: Workload) -> bool:
    """Let a shape watch a violated constraint for each flavor; tell whether there are such."""
    beyond = _proof(state, cq, workload)
    if beyond is None:
        return False
    shape.watch = Watch()
    rights = Rights(
        priority=workload.priority,
        displaced=is_displaced(state, cq, workload),
        moves=may_move_shares(state, cq, workload),
        never=workload.never_preempts,
        needs=_needs(state, cq, workload),
    )
    for cell, units in beyond:
        _push(_of(cq, cell).beyond.setdefault(rights, Watchers()), units, shape, shape.watch)
    return True


def _is_told_of_quota(nominee: Nominee) -> bool:
    """Tell whether all that could be said of why a head waits is which quota it lacks."""
    held = nominee.workload.held
    if held is None or not held.tried or nominee.workload.replaces:
        return False
    return held.reason in OF_QUOTA and nominee.outcome in ("no fit", "no candidates", "deferred")


def _of(cq: ClusterQueueState, cell: Cell) -> CellWatchers:
    found = cq.watchers.get(id(cell))
    if found is None:
        found = cq.watchers[id(cell)] = CellWatchers(cell=cell)
    return found


def _push(watchers: Watchers, units: int, shape: Shape, token: Watch) -> None:
    heap = watchers.heap
    heappush(heap, (units, next(_serial), shape, token))
    if len(heap) > watchers.entries_max:
        heap[:] = [one for one in heap if one[3] in (one[2].watch, one[2].named)]
        heapify(heap)
        watchers.entries_max = 2 * len(heap) + _STALE_MAX


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
    question = Question(state=state, workload=workload, cq=cq, oracle=nobody, only=None)
    asking = Asking(state=state, cq=cq, workload=workload, needs=_needs(state, cq, workload))
    each = per_pod(state, workload)
    for members in grouped(workload.podsets):
        podsets = [workload.podsets[index] for index in members]
        total: dict[str, int] = {}
        for index, podset in zip(members, podsets, strict=True):
            pods = count(workload, podset)
            if podset.min_count is not None:
                pods = min(pods, podset.min_count)
            asked = times(each[index], pods)
            if PODS in cq.group_of:
                asked[PODS] = pods
            for name, units in asked.items():
                total[name] = total.get(name, 0) + units
        for group in cq.groups:
            found = _violated(question, asking, podsets, group, total)
            if found is not None:
                return found
    return None


def _needs(state: State, cq: ClusterQueueState, workload: Workload) -> tuple[FlavorResource, ...]:
    """Return all that a workload might be charged, in whichever flavors."""
    asked = dict.fromkeys((PODS, *(name for each in per_pod(state, workload) for name in each)))
    groups = {id(group): group for name in asked if (group := cq.group_of.get(name)) is not None}
    return tuple(
        slot.cells[name].fr
        for group in groups.values()
        for slot in group.slots
        for name in group.resources
        if name in asked
    )


def _violated(
    question: Question, asking: Asking, podsets: list[PodSet], group: Group, asked: dict[str, int]
) -> list[Constraint] | None:
    """Return for each flavor of a group an amount that it has no room for, evictions included."""
    cq = question.cq
    found: list[Constraint] = []
    names = [name for name in group.resources if asked.get(name) and cq.group_of[name] is group]
    for slot in group.slots if names else ():
        for name in names:
            cell, units = slot.cells[name], asked[name]
            if units > cell.potential:
                break  # for ever: there is nothing to watch
            if not may_suffice(asking, cell, units):
                found.append((cell, units))
                break
        else:
            if eligible(question, podsets, slot, names):
                return None
    return found if names else None
