"""Wakes workloads after a tree changed: those that watch an amount that may be available now.

A ClusterQueue costs nothing as long as nothing changed on its path to the root and less is free
than its watchers lack. Shapes that watch an amount that is free are in ``near``, in queue order.
They keep their watches, so that those behind the last one that fits cost nothing later.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from tidegate.core.preemption.available import (
    lack_at_root,
    may_become_available,
    unused_amount,
    version_below_root,
)
from tidegate.core.preemption.bounds import Preemptor
from tidegate.core.queueing.admission_fair_sharing import orders_by_usage
from tidegate.core.quota.tree import INFINITE, Cell, cell_available
from tidegate.core.state.cluster_queues import CellWatchers, ClusterQueueState, Shortfall, Tree
from tidegate.core.state.scheduling_queue import first_workload, is_offered, requeue_shape, unpark
from tidegate.core.state.state import State
from tidegate.core.state.workload import Rank, Rights, Shape, Watch
from tidegate.core.topology.capacity import Capacity

_Entry: TypeAlias = tuple[int, int, Shape, Watch]
_amount = itemgetter(0)


class _Waking(msgspec.Struct, kw_only=True, eq=False):
    """A cell of a ClusterQueue whose watchers may be woken."""

    state: State
    cq: ClusterQueueState
    at: CellWatchers
    limit: int | None  # the largest amount that any watcher may get now; None: not known
    near: dict[int, tuple[Rank, Shape, Watch]]  # by the identity of their shapes
    lasts: bool = True  # as far as known, only a change at the root can wake the watchers


def offer_unproven(tree: Tree) -> None:
    """Offer workloads of a tree again that watch nothing, if it changed since they were tried."""
    unproven, tree.unproven = tree.unproven, {}
    for cq, shape, (stamp, left_seq) in unproven.values():
        if shape.named is not None or is_offered(cq, shape):
            continue
        if stamp == tree.stamp and left_seq in {-1, tree.left_seq}:
            tree.unproven[id(shape)] = cq, shape, (stamp, left_seq)
        else:
            unpark(cq, shape)


def wake_queue(state: State, cq: ClusterQueueState) -> None:
    """Offer a ClusterQueue's workloads again that may fit now or may evict again.

    Call it after ``DecideContext.begin_cycle``, which shows the tree as the cycle sees it.
    """
    if not cq.watchers or cq.woken_at == cq.tree.stamp:
        return
    cq.woken_at = cq.tree.stamp
    version, near = version_below_root(cq.node), dict[int, tuple[Rank, Shape, Watch]]()
    wakings = [
        _Waking(state=state, cq=cq, at=at, limit=limit, near=near)
        for at in cq.watchers.values()
        if _may_wake(at, limit := _largest_available(at, version))
    ]
    direct = bool(wakings) and not cq.has_topologies and not orders_by_usage(state, cq.spec)
    for waking in wakings:
        _wake_named(waking, direct=direct)
    for waking in wakings:
        lack, at = _wake_beyond(waking), waking.at
        if waking.limit is None:
            at.shortfall, at.shortfall_at = lack, version
        if isinstance(at.cell, Capacity) and not _is_watched(at):
            del cq.watchers[at.cell]
    cq.reachable = sorted(near.values()) if near else []


def _largest_available(at: CellWatchers, version: int) -> int | None:
    """Return the largest amount that any watcher of a cell may get now; None: not known."""
    lack = at.shortfall
    if lack is None or at.shortfall_at != version or isinstance(at.cell, Capacity):
        return None
    return cell_available(at.cell) + lack.own


def _may_wake(at: CellWatchers, limit: int | None) -> bool:
    return limit is None or at.shortfall is None or at.shortfall.units + at.shortfall.own <= limit


def _wake_named(waking: _Waking, *, direct: bool) -> None:
    """Offer shapes whose reason names an amount that is free now, or put them into ``near``.

    With ``direct``, parked shapes go into ``near``: ``direct_fit`` tries these first.
    """
    entries = waking.at.named.entries
    if not entries:
        return
    end = bisect_right(entries, unused_amount(waking.state, waking.at.cell), key=_amount)
    valid = [entry for entry in entries[:end] if entry[2].named is entry[3]]
    if len(valid) < end:
        entries[:end] = valid
    for _, _, shape, token in valid:
        top = first_workload(shape) if direct and shape.inadmissible else None
        if top is None:
            _offer_again(waking.cq, shape, token)
        else:
            waking.near[id(shape)] = top.rank, shape, token


def _wake_beyond(waking: _Waking) -> Shortfall | None:
    """Offer shapes whose amount evictions may free; return what must change to wake any other."""
    named, beyond = waking.at.named.entries, waking.at.beyond
    lacks: list[Shortfall | None] = [Shortfall(units=named[0][0])] if named else []
    for of, watchers in list(beyond.items()):
        if watchers.entries:
            lacks.append(_wake_reached(waking, watchers.entries, _maximal_rights(waking.cq, of)))
        else:
            del beyond[of]
    known_lacks = [lack for lack in lacks if lack is not None]
    if len(known_lacks) < len(lacks):
        return None
    return Shortfall(
        units=min((lack.units for lack in known_lacks), default=INFINITE),
        own=max((lack.own for lack in known_lacks), default=0),
    )


def _maximal_rights(cq: ClusterQueueState, rights: Rights) -> Rights:
    """Return the most that rights may have become: lost ones may have come back since an event."""
    displaced = rights.displaced and cq.tree.outside_seq <= cq.tree.moved_seq
    moves = rights.moves or cq.outside_seq > cq.moved_seq
    if (displaced, moves) == (rights.displaced, rights.moves):
        return rights
    return replace(rights, displaced=displaced, moves=moves)


def _wake_reached(waking: _Waking, entries: list[_Entry], rights: Rights) -> Shortfall | None:
    """Offer shapes again whose amount may be had now: they may violate another constraint.

    Returns what must change before any of the amounts may be had; None: not known.
    """
    valid, end, lack = list[_Entry](), 0, None
    preemptor = Preemptor(state=waking.state, cq=waking.cq, rights=rights)
    for entry in entries:
        units, _, shape, token = entry
        if waking.limit is not None and units > waking.limit:
            break
        end += 1
        if shape.watch is not token:
            continue
        if not valid:
            lack = _lack_of(waking, preemptor, units)
        valid.append(entry)
        if id(shape) in waking.near:
            continue
        if not token.reached and not may_become_available(preemptor, waking.at.cell, units):
            break
        _offer_again(waking.cq, shape, token)
    if len(valid) < end:
        entries[:end] = valid
    return lack if valid else Shortfall(units=INFINITE)


def _lack_of(waking: _Waking, preemptor: Preemptor, units: int) -> Shortfall | None:
    """Return what must change before an amount, or a larger one, may be had; None: not known."""
    cell, lack = waking.at.cell, None
    if waking.limit is None and waking.lasts and isinstance(cell, Cell):
        lack = lack_at_root(preemptor, cell, units)
        waking.lasts = lack is not None
    return lack


def _offer_again(cq: ClusterQueueState, shape: Shape, token: Watch) -> None:
    """Offer a shape again because of what it watches; its watch entries stay in place."""
    if not token.reached:
        token.reached = True
        requeue_shape(cq, shape)


def _is_watched(at: CellWatchers) -> bool:
    return bool(at.named.entries) or any(others.entries for others in at.beyond.values())
