"""Whom a ClusterQueue need not offer until something changes: workloads that watch a constraint.

A workload that fits nowhere, whoever might be evicted for it, violates one constraint in each
flavor that it may go to: so much of a cell is not to be had, or so many slices of its pods find no
room at a level of the flavor's topology. It watches those, and the constraints that it was told of,
which hold once as much is free. Each cell and each room keeps its watchers ordered by amount, so
that a change costs what is woken: they find another violated constraint, or are offered. Who lacks
neither, or was searched victims for in vain, is looked at again whenever the tree changes.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count as counter

from msgspec.structs import replace

from tidegate.core.flavors.parts import parts_of
from tidegate.core.nomination.constraints import named, proof
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.deferral import is_deferred
from tidegate.core.nomination.explain import NODELESS, OF_QUOTA
from tidegate.core.nomination.nominate import Nominee
from tidegate.core.preemption.available import may_be_had, unused
from tidegate.core.preemption.bounds import Asking, who_asks
from tidegate.core.quota.tree import Cell
from tidegate.core.state.cluster_queues import (
    CellWatchers,
    ClusterQueueState,
    Tree,
    Watchers,
)
from tidegate.core.state.shapes import first_of, is_offered, reconsider, set_aside, unpark
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Constraint, Rights, Shape, Watch
from tidegate.core.topology.capacity import Capacity

_STALE_MAX = 64
_serial = counter()


def watch(state: State, nominee: Nominee) -> None:
    """Let the shape of a workload that is set aside watch what keeps it from starting."""
    cq, workload, shape = nominee.cq, nominee.workload, nominee.workload.shape
    assert shape is not None
    shape.named = None
    shape.told = _is_told_of_constraints(state, nominee)
    is_known = shape.told or not cq.has_topologies
    if is_known and nominee.outcome in ("no fit", "no candidates") and not workload.replaces:
        _register(state, cq, shape, workload)
    if shape.named is None:
        cq.tree.unproven[id(shape)] = cq, shape


def waits_still(context: DecideContext, cq: ClusterQueueState, workload: Workload) -> bool:
    """Set a workload aside unseen, if it is known to lack again what it was told of.

    It was woken in an earlier cycle, and what it was woken for went to others before its turn; or
    what it waits for is still held by those who leave.
    """
    shape = workload.shape
    assert shape is not None
    if not shape.told or not _waits(context, cq, shape, workload):
        return False
    set_aside(cq, workload, others=False)
    return True


def wake(state: State, tree: Tree) -> None:
    """Offer again whoever could act, or be told something new, since a tree changed.

    To be called while the tree is as the cycle shows it.
    """
    unproven, tree.unproven = tree.unproven, {}
    for cq, shape in unproven.values():
        if shape.named is not None or is_offered(cq, shape):
            continue
        if shape.aside == tree.stamp:
            tree.unproven[id(shape)] = cq, shape
        else:
            unpark(cq, shape)
    if tree.woken_at == tree.stamp:
        return
    tree.woken_at = tree.stamp
    for cq in tree.cluster_queues:
        if cq.watchers:
            _wake_queue(state, cq)


def _waits(context: DecideContext, cq: ClusterQueueState, shape: Shape, workload: Workload) -> bool:
    """Tell whether a workload lacks again what it was told of, and let its shape watch that."""
    state, pending = context.state, workload.held
    if _violates_still(state, cq, shape, workload) or _register(state, cq, shape, workload):
        return True
    if pending and pending.reason == "WaitingForQuota" and is_deferred(context, cq, workload):
        shape.named = None
        cq.tree.unproven[id(shape)] = cq, shape
        return True
    return False


def _violates_still(state: State, cq: ClusterQueueState, shape: Shape, workload: Workload) -> bool:
    """Tell whether all that a shape watched before it was woken is violated again, and watch it."""
    watched, proved = shape.named, shape.watch
    if watched is None or proved is None or proved.rights is None:
        return False
    if any(units <= unused(state, at) for at, units in watched.constraints):
        return False
    asking = who_asks(state, cq, workload, proved.rights.needs)
    if any(may_be_had(asking, at, units) for at, units in proved.constraints):
        return False
    for at, units in watched.reached:
        _push(_of(cq, at).named, units, shape, watched)
    for at, units in proved.reached:
        of = _of(cq, at).beyond.setdefault(proved.rights, Watchers())
        _push(of, units, shape, proved)
    watched.reached = proved.reached = ()
    return True


def _wake_queue(state: State, cq: ClusterQueueState) -> None:
    """Offer again whom a ClusterQueue's cells may have room for now, or who may evict again."""
    for at in list(cq.watchers.values()):
        _wake_named(state, cq, at)
        for of, watchers in list(at.beyond.items()):
            if watchers.heap:
                _wake_reached(state, cq, at, of)
            else:
                del at.beyond[of]
        if isinstance(at.cell, Capacity) and not _is_watched(at):
            del cq.watchers[at.cell]


def _wake_named(state: State, cq: ClusterQueueState, at: CellWatchers) -> None:
    """Offer those again who were told that they lack what may be had now."""
    heap = at.named.heap
    most = unused(state, at.cell) if heap else 0
    while heap and heap[0][0] <= most:
        units, _, shape, token = heappop(heap)
        if shape.named is token:
            _reached(cq, shape, token, (at.cell, units))


def _at_most(cq: ClusterQueueState, rights: Rights) -> Rights:
    """Return what rights may have become: who had lost some may have them again since an event."""
    displaced = rights.displaced and cq.tree.outside_seq <= cq.tree.moved_seq
    moves = rights.moves or cq.outside_seq > cq.moved_seq
    if (displaced, moves) == (rights.displaced, rights.moves):
        return rights
    return replace(rights, displaced=displaced, moves=moves)


def _wake_reached(state: State, cq: ClusterQueueState, at: CellWatchers, of: Rights) -> None:
    """Offer those again whose amount may be had now: they may violate another constraint."""
    heap, rights = at.beyond[of].heap, _at_most(cq, of)
    while heap:
        units, _, shape, token = heap[0]
        top = first_of(shape) if shape.watch is token else None
        if top is not None:
            asking = Asking(state=state, cq=cq, workload=top, rights=rights)
            if not may_be_had(asking, at.cell, units):
                return
        heappop(heap)
        if shape.watch is token:
            _reached(cq, shape, token, (at.cell, units))


def _reached(cq: ClusterQueueState, shape: Shape, token: Watch, now: Constraint) -> None:
    token.reached += (now,)
    reconsider(cq, shape)


def _register(state: State, cq: ClusterQueueState, shape: Shape, workload: Workload) -> bool:
    """Let a shape watch a violated constraint for each flavor, and those that it was told of.

    Tells whether there are such, and all that it was told of are violated.
    """
    rows = named(state, cq, shape, workload)
    if rows is None or any(units <= unused(state, at) for at, units in rows):
        return False
    proved = shape.watch is not None and not shape.watch.reached
    if not proved and not _prove(state, cq, shape, workload):
        return False
    shape.named = Watch(constraints=rows)
    for at, units in rows:
        _push(_of(cq, at).named, units, shape, shape.named)
    return True


def _prove(state: State, cq: ClusterQueueState, shape: Shape, workload: Workload) -> bool:
    """Let a shape watch a violated constraint for each flavor; tell whether there are such."""
    parts = parts_of(state, cq, workload)
    asking = who_asks(state, cq, workload, parts.needs)
    beyond = proof(asking, parts)
    if beyond is None:
        return False
    shape.watch = Watch(constraints=beyond, rights=asking.rights)
    for at, units in beyond:
        _push(_of(cq, at).beyond.setdefault(asking.rights, Watchers()), units, shape, shape.watch)
    return True


def _is_told_of_constraints(state: State, nominee: Nominee) -> bool:
    """Tell whether all that could be said of why a head waits is what quota or room it lacks.

    Who only waits for others to leave is not told anew, so that what it was told must not depend on
    definitions, which may have changed since.
    """
    workload, shape = nominee.workload, nominee.workload.shape
    pending = workload.held
    if (
        pending is None
        or shape is None
        or workload.replaces
        or not (pending.tried or pending.places)
    ):
        return False
    count = len(pending.tried) + len(pending.places)
    says = named(state, nominee.cq, shape, workload)
    if says is None or (nominee.outcome == "deferred" and len(says) < count):
        return False
    return pending.reason in (*OF_QUOTA, NODELESS) and nominee.outcome in (
        "no fit",
        "no candidates",
        "deferred",
    )


def _of(cq: ClusterQueueState, at: Cell | Capacity) -> CellWatchers:
    key = at if isinstance(at, Capacity) else id(at)
    cell_watchers = cq.watchers.get(key)
    if cell_watchers is None:
        cell_watchers = cq.watchers[key] = CellWatchers(cell=at)
    return cell_watchers


def _is_watched(at: CellWatchers) -> bool:
    return bool(at.named.heap) or any(watchers.heap for watchers in at.beyond.values())


def _push(watchers: Watchers, units: int, shape: Shape, token: Watch) -> None:
    heap = watchers.heap
    heappush(heap, (units, next(_serial), shape, token))
    if len(heap) > watchers.entries_max:
        heap[:] = [item for item in heap if item[3] in (item[2].watch, item[2].named)]
        heapify(heap)
        watchers.entries_max = 2 * len(heap) + _STALE_MAX
