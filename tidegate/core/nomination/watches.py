"""Workloads that a ClusterQueue does not offer until a constraint that they watch may hold.

A workload that fits nowhere, even if others were evicted, violates one constraint in each flavor
that it may use: an amount of a quota cell that cannot be freed, or a number of slices that does not
fit at a level of the flavor's topology. It watches these constraints, and those in its reason,
which hold once the amount is free. Each cell and each topology capacity keeps its watchers ordered
by amount, so that a change costs only the watchers that it wakes; these find another violated
constraint, or are offered. A workload without a violated constraint, or whose search for victims
failed, is nominated again whenever its tree changes.
"""

from __future__ import annotations

from bisect import insort
from itertools import count as counter

from tidegate.core.flavors.parts import parts_of
from tidegate.core.nomination.constraints import named, proof
from tidegate.core.nomination.explain import NODELESS, OF_QUOTA
from tidegate.core.nomination.nominate import Nominee
from tidegate.core.preemption.available import may_be_had, unused
from tidegate.core.preemption.bounds import preemptor_of
from tidegate.core.quota.tree import Cell
from tidegate.core.state.cluster_queues import (
    CellWatchers,
    ClusterQueueState,
    Watchers,
)
from tidegate.core.state.shapes import reconsider, set_aside
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Shape, Watch
from tidegate.core.topology.capacity import Capacity

_STALE_MAX = 64
_serial = counter()


def watch(state: State, nominee: Nominee) -> None:
    """Let the shape of a workload that was set aside watch the constraints that it violates."""
    cq, workload, shape = nominee.cq, nominee.workload, nominee.workload.shape
    assert shape is not None
    shape.named = None
    shape.explained = _names_constraints(state, nominee)
    explained = shape.explained or not cq.has_topologies
    if explained and nominee.outcome in ("no fit", "no candidates") and not workload.replaces:
        _register(state, cq, shape, workload)
    if shape.named is None:
        left_seq = cq.tree.left_seq if nominee.outcome == "deferred" else -1
        cq.tree.unproven[id(shape)] = cq, shape, (cq.tree.stamp, left_seq)


def waits_still(state: State, cq: ClusterQueueState, workload: Workload) -> bool:
    """Set a workload aside without nomination if its reason is known to hold again.

    It was woken in an earlier cycle, but other workloads took that quota before its turn.
    """
    shape = workload.shape
    assert shape is not None
    if not shape.explained:
        return False
    if not _violates_still(state, cq, shape, workload) and not _register(
        state, cq, shape, workload
    ):
        return False
    set_aside(cq, workload, others=False)
    return True


def _violates_still(state: State, cq: ClusterQueueState, shape: Shape, workload: Workload) -> bool:
    """Tell whether all constraints that a woken shape watched are violated again; watch them."""
    named_watch, proved = shape.named, shape.watch
    if named_watch is None or proved is None or proved.rights is None:
        return False
    for at, units in named_watch.constraints:
        if units <= unused(state, at):
            return False
    needs = preemptor_of(state, cq, workload, proved.rights.needs)
    for at, units in proved.constraints:
        if may_be_had(needs, at, units):
            return False
    named_watch.reached = proved.reached = False
    return True


def reach(cq: ClusterQueueState, shape: Shape) -> None:
    """Offer a shape again: none of its watched constraints is known to be violated."""
    for token in (shape.named, shape.watch):
        if token is not None:
            token.reached = True
    reconsider(cq, shape)


def _register(state: State, cq: ClusterQueueState, shape: Shape, workload: Workload) -> bool:
    """Let a shape watch a violated constraint for each flavor, and those in its reason.

    Returns False, and watches nothing new, if a flavor has none or the reason's may hold.
    """
    constraints = named(state, cq, shape, workload)
    if constraints is None or any(units <= unused(state, at) for at, units in constraints):
        return False
    proved = shape.watch is not None and not shape.watch.reached
    if not proved and not _prove(state, cq, shape, workload):
        return False
    shape.named = Watch(constraints=constraints)
    for at, units in constraints:
        _push(_of(cq, at).named, units, shape, shape.named)
    return True


def _prove(state: State, cq: ClusterQueueState, shape: Shape, workload: Workload) -> bool:
    """Let a shape watch a violated constraint for each flavor; tell whether each has one."""
    parts = parts_of(state, cq, workload)
    needs = preemptor_of(state, cq, workload, parts.needs)
    beyond = proof(needs, workload, parts)
    if beyond is None:
        return False
    shape.watch = Watch(constraints=beyond, rights=needs.rights)
    for at, units in beyond:
        _push(_of(cq, at).beyond.setdefault(needs.rights, Watchers()), units, shape, shape.watch)
    return True


def _names_constraints(state: State, nominee: Nominee) -> bool:
    """Tell whether a head's reason consists of missing quota or topology capacity only.

    A head that only waits for others to leave gets no new reason, so its old one must not depend
    on definitions, which may have changed since.
    """
    workload, shape = nominee.workload, nominee.workload.shape
    pending = workload.pending_status
    if (
        pending is None
        or shape is None
        or workload.replaces
        or not (pending.tried or pending.places)
    ):
        return False
    explained_count = len(pending.tried) + len(pending.places)
    says = named(state, nominee.cq, shape, workload)
    if says is None or (nominee.outcome == "deferred" and len(says) < explained_count):
        return False
    return pending.reason in (*OF_QUOTA, NODELESS) and nominee.outcome in (
        "no fit",
        "no candidates",
        "deferred",
    )


def _of(cq: ClusterQueueState, at: Cell | Capacity) -> CellWatchers:
    key = at if isinstance(at, Capacity) else id(at)
    watchers = cq.watchers.get(key)
    if watchers is None:
        watchers = cq.watchers[key] = CellWatchers(cell=at)
    watchers.lack = None  # a new watcher is about to be added
    return watchers


def _push(watchers: Watchers, units: int, shape: Shape, token: Watch) -> None:
    entries = watchers.entries
    insort(entries, (units, next(_serial), shape, token))
    if len(entries) > watchers.entries_max:
        entries[:] = [entry for entry in entries if entry[3] in (entry[2].watch, entry[2].named)]
        watchers.entries_max = 2 * len(entries) + _STALE_MAX
