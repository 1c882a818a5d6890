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
from collections.abc import Iterator
from itertools import count as counter

from msgspec.structs import replace

from tidegate.core.flavors.fitting import IN_USE
from tidegate.core.flavors.parts import explained_demand, least_demand, parts_of
from tidegate.core.nomination.explain import NODELESS, OF_QUOTA
from tidegate.core.nomination.nominate import Nominee
from tidegate.core.preemption.available import may_become_available, unused_amount
from tidegate.core.preemption.bounds import Preemptor, preemptor_of
from tidegate.core.quota.tree import Cell
from tidegate.core.state.cluster_queues import CellWatchers, ClusterQueueState, Watchers
from tidegate.core.state.scheduling_queue import requeue_shape, set_aside
from tidegate.core.state.state import PendingStatus, State, Workload
from tidegate.core.state.workload import Constraint, Part, Parts, Rights, Shape, Slot, Watch
from tidegate.core.topology.capacity import Capacity
from tidegate.core.topology.fitting.request import Failure

_STALE_MAX = 64
_serial = counter()


def watch_constraints(state: State, nominee: Nominee) -> None:
    """Let the shape of a workload that was set aside watch the constraints that it violates."""
    cq, workload, shape = nominee.cq, nominee.workload, nominee.workload.shape
    assert shape is not None
    shape.named = None
    shape.explained = _names_constraints(state, nominee)
    explained = shape.explained or not cq.has_topologies
    if explained and nominee.outcome in ("no fit", "no candidates") and not workload.replaces:
        _watch_violated(state, cq, shape, workload)
    if shape.named is None:
        left_seq = cq.tree.left_seq if nominee.outcome == "deferred" else -1
        cq.tree.unproven[id(shape)] = cq, shape, (cq.tree.stamp, left_seq)


def set_aside_if_unchanged(
    state: State, cq: ClusterQueueState, shape: Shape, workload: Workload
) -> bool:
    """Set a workload aside without nomination if its reason, which is known, holds again.

    It was woken in an earlier cycle, but other workloads took that quota before its turn.
    """
    if not _still_violates_watched(state, cq, shape, workload) and not _watch_violated(
        state, cq, shape, workload
    ):
        return False
    set_aside(cq, workload, others=False)
    return True


def _still_violates_watched(
    state: State, cq: ClusterQueueState, shape: Shape, workload: Workload
) -> bool:
    """Tell whether all constraints that a woken shape watched are violated again; watch them."""
    named_watch, proved = shape.named, shape.watch
    if named_watch is None or proved is None or proved.rights is None:
        return False
    for at, units in named_watch.constraints:
        if units <= unused_amount(state, at):
            return False
    needs = preemptor_of(state, cq, workload, proved.rights.needs)
    for at, units in proved.constraints:
        if may_become_available(needs, at, units):
            return False
    named_watch.reached = proved.reached = False
    for at, units in proved.constraints:
        _forget_shortfall(_beyond(cq, at, proved.rights), units)
    return True


def offer_again(cq: ClusterQueueState, shape: Shape) -> None:
    """Offer a shape again: none of its watched constraints is known to be violated."""
    for token in (shape.named, shape.watch):
        if token is not None:
            token.reached = True
    requeue_shape(cq, shape)


def _watch_violated(state: State, cq: ClusterQueueState, shape: Shape, workload: Workload) -> bool:
    """Let a shape watch a violated constraint for each flavor, and those in its reason.

    Returns False, and watches nothing new, if a flavor has none or the reason's may hold.
    """
    constraints = _reason_constraints(state, cq, shape, workload)
    if constraints is None or any(units <= unused_amount(state, at) for at, units in constraints):
        return False
    proved = shape.watch is not None and not shape.watch.reached
    if not proved and not _watch_per_flavor(state, cq, shape, workload):
        return False
    shape.named = Watch(constraints=constraints)
    for at, units in constraints:
        _add_watcher(_cell_watchers(cq, at).named, units, shape, shape.named)
    return True


def _watch_per_flavor(
    state: State, cq: ClusterQueueState, shape: Shape, workload: Workload
) -> bool:
    """Let a shape watch a violated constraint for each flavor; tell whether each has one."""
    parts = parts_of(state, cq, workload)
    needs = preemptor_of(state, cq, workload, parts.needs)
    beyond = _violated_per_flavor(needs, workload, parts)
    if beyond is None:
        return False
    shape.watch = Watch(constraints=beyond, rights=needs.rights)
    for at, units in beyond:
        _add_watcher(_beyond(cq, at, needs.rights), units, shape, shape.watch)
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
    says = _reason_constraints(state, nominee.cq, shape, workload)
    if says is None or (nominee.outcome == "deferred" and len(says) < explained_count):
        return False
    return pending.reason in (*OF_QUOTA, NODELESS) and nominee.outcome in (
        "no fit",
        "no candidates",
        "deferred",
    )


def _cell_watchers(cq: ClusterQueueState, at: Cell | Capacity) -> CellWatchers:
    key = at if isinstance(at, Capacity) else id(at)
    watchers = cq.watchers.get(key)
    if watchers is None:
        watchers = cq.watchers[key] = CellWatchers(cell=at)
    return watchers


def _beyond(cq: ClusterQueueState, at: Cell | Capacity, rights: Rights) -> Watchers:
    return _cell_watchers(cq, at).beyond.setdefault(rights, Watchers())


def _forget_shortfall(watchers: Watchers, units: int) -> None:
    """Look at some watchers again, one of which waits for this amount and was not reached yet."""
    if watchers.shortfall is not None and units < watchers.shortfall.units:
        watchers.shortfall = None


def _add_watcher(watchers: Watchers, units: int, shape: Shape, token: Watch) -> None:
    entries = watchers.entries
    insort(entries, (units, next(_serial), shape, token))
    _forget_shortfall(watchers, units)
    if len(entries) > watchers.entries_max:
        entries[:] = [entry for entry in entries if entry[3] in (entry[2].watch, entry[2].named)]
        watchers.entries_max = 2 * len(entries) + _STALE_MAX


def _reason_constraints(
    state: State, cq: ClusterQueueState, shape: Shape, workload: Workload
) -> list[Constraint] | None:
    """Return the constraints in a workload's reason; once one holds, it needs a new reason.

    None: the reason names more than constraints.
    """
    pending = workload.pending_status
    if pending is None:
        return []
    if shape.explanation is None or shape.explanation[0] is not pending:
        capacity = _topology_constraints(state, workload, pending)
        shape.explanation = (
            pending,
            None if capacity is None else [*_quota_constraints(cq, pending), *capacity],
        )
    return shape.explanation[1]


def _topology_constraints(
    state: State, workload: Workload, pending: PendingStatus
) -> list[Constraint] | None:
    """Return the topology capacity that a reason says is lacking; None: not known.

    Leaves out failures that no free capacity would mend: these last until a definition changes.
    """
    results: list[Constraint] = []
    for podset, flavor in pending.places:
        needed = explained_demand(state, workload, podset, flavor)
        if needed is None:
            return None
        if not isinstance(needed, Failure):
            results.append(
                (replace(needed.capacity, empty=pending.reason == NODELESS), needed.slices)
            )
    return results


def _violated_per_flavor(
    preemptor: Preemptor, workload: Workload, parts: Parts
) -> list[Constraint] | None:
    """Return a violated constraint for each flavor of one part of a workload, or None."""
    for part in parts.each:
        results = _violated_constraints(preemptor, workload, part)
        if results is not None:
            return results
    return None


def _quota_constraints(cq: ClusterQueueState, pending: PendingStatus) -> Iterator[Constraint]:
    for (_, flavor, resource, message), requested in zip(
        pending.tried, pending.requested, strict=True
    ):
        group = cq.group_of.get(resource)  # the queue may be defined without it by now
        if message == IN_USE and group is not None:
            yield from (
                (slot.cells[resource], requested) for slot in group.slots if slot.flavor == flavor
            )


def _violated_constraints(
    preemptor: Preemptor, workload: Workload, part: Part
) -> list[Constraint] | None:
    """Return for each flavor of a part an amount that even evictions could not free, or None."""
    needs = [(name, units) for name, units in part.least.items() if units]
    if not needs:
        return None
    results: list[Constraint] = []
    for slot in part.slots:
        lacking = _insufficient_quota(preemptor, slot, needs)
        if lacking is None:
            lacking = _insufficient_nodes(preemptor, workload, part, slot)
        if lacking is None:
            return None
        results += lacking
    return results


def _insufficient_quota(
    preemptor: Preemptor, slot: Slot, needs: list[tuple[str, int]]
) -> list[Constraint] | None:
    """Return which quota of a flavor is insufficient; empty if more than could ever be free."""
    for name, units in needs:
        cell = slot.cells[name]
        if units > cell.potential:
            return []
        if not may_become_available(preemptor, cell, units):
            return [(cell, units)]
    return None


def _insufficient_nodes(
    preemptor: Preemptor, workload: Workload, part: Part, slot: Slot
) -> list[Constraint] | None:
    """Return which capacity of a flavor's nodes is insufficient; empty if it always would be."""
    needed = least_demand(preemptor.state, preemptor.cq, workload, part.podsets, slot)
    if needed is None:
        return None
    if isinstance(needed, Failure):
        return []
    capacity, slices = needed
    if may_become_available(preemptor, capacity, slices):
        return None
    empty = replace(capacity, empty=True)
    return [(empty if slices > unused_amount(preemptor.state, empty) else capacity, slices)]
