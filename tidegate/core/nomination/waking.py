"""Wakes workloads after a tree changed: those that watch an amount that may be available now.

Watchers are passed over as long as nothing changed on their path below the root, less is free there
than they lack, and no share elsewhere lets them preempt (``Shortfall``). Shapes that watch an
amount that is free are in ``near``, in queue order. They keep their watches, so that those behind
the last one that fits cost nothing later.
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
    may_reclaim_at_root,
    unused_amount,
    version_below_root,
)
from tidegate.core.preemption.bounds import Preemptor
from tidegate.core.queueing.admission_fair_sharing import orders_by_usage
from tidegate.core.queueing.displaced import is_held_back
from tidegate.core.state.cluster_queues import CellWatchers, ClusterQueueState, Tree, Watchers
from tidegate.core.state.scheduling_queue import first_workload, is_offered, requeue_shape, unpark
from tidegate.core.state.state import State
from tidegate.core.state.workload import Rank, Rights, Shape, Watch
from tidegate.core.topology.capacity import Capacity

_Entry: TypeAlias = tuple[int, int, Shape, Watch]
_amount = itemgetter(0)


class _Waking(msgspec.Struct, kw_only=True, eq=False):
    """A cell or capacity of a ClusterQueue whose watchers may be woken."""

    state: State
    cq: ClusterQueueState
    at: CellWatchers
    version: int  # of the nodes below the root
    unused: int  # amount that is unused now
    near: dict[int, tuple[Rank, Shape, Watch]]  # by the identity of their shapes


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
    near = dict[int, tuple[Rank, Shape, Watch]]()
    version = version_below_root(cq.node)
    wakings = [
        _Waking(state=state, cq=cq, at=at, version=version, unused=unused, near=near)
        for at in cq.watchers.values()
        if _may_wake(cq, at, version, unused := unused_amount(state, at.cell))
    ]
    direct = bool(wakings) and not cq.has_topologies and not orders_by_usage(state, cq.spec)
    for waking in wakings:
        _wake_named(waking, direct=direct)
    for waking in wakings:
        _wake_beyond(waking)
        if isinstance(waking.at.cell, Capacity) and not _is_watched(waking.at):
            del cq.watchers[waking.at.cell]
    cq.reachable = sorted(near.values()) if near else []


def _may_wake(cq: ClusterQueueState, at: CellWatchers, version: int, unused: int) -> bool:
    """Tell whether any watcher of a cell may be woken, as far as is known."""
    named = at.named.entries
    if named and named[0][0] <= unused:
        return True
    for rights, watchers in at.beyond.items():
        if not _is_lacking(cq, rights, watchers, version, unused):
            return True
    return not named and not at.beyond


def _is_lacking(
    cq: ClusterQueueState, rights: Rights, watchers: Watchers, version: int, unused: int
) -> bool:
    """Tell whether the amounts of some watchers that were not reached are known to be lacking."""
    lack = watchers.shortfall
    if lack is None or lack.unused <= unused or watchers.shortfall_at != version:
        return False
    if lack.lost and watchers.shortfall_rights != _maximal_rights(cq, rights):
        return False
    return lack.rank is None or not may_reclaim_at_root(cq, lack.rank, lack.needs)


def _wake_named(waking: _Waking, *, direct: bool) -> None:
    """Offer shapes whose reason names an amount that is free now, or put them into ``near``.

    With ``direct``, parked shapes go into ``near``: ``direct_fit`` tries these first.
    """
    entries = waking.at.named.entries
    if not entries:
        return
    end = bisect_right(entries, waking.unused, key=_amount)
    valid = [entry for entry in entries[:end] if entry[2].named is entry[3]]
    if len(valid) < end:
        entries[:end] = valid
    for _, _, shape, token in valid:
        top = first_workload(shape) if direct and shape.inadmissible else None
        if top is None:
            _offer_again(waking.cq, shape, token)
        else:
            waking.near[id(shape)] = top.rank, shape, token


def _wake_beyond(waking: _Waking) -> None:
    """Offer shapes whose amount evictions may free."""
    cq, beyond = waking.cq, waking.at.beyond
    for rights, watchers in list(beyond.items()):
        if not watchers.entries:
            del beyond[rights]
        elif not _is_lacking(cq, rights, watchers, waking.version, waking.unused):
            _wake_reached(waking, watchers, _maximal_rights(cq, rights))


def _maximal_rights(cq: ClusterQueueState, rights: Rights) -> Rights:
    """Return the most that rights may have become: lost ones may have come back since an event."""
    if rights.moves and not rights.displaced:
        return rights
    displaced = rights.displaced and cq.tree.outside_seq <= cq.tree.moved_seq
    moves = rights.moves or (
        (rights.fresh or cq.outside_seq > cq.moved_seq) and not is_held_back(cq, rights.priority)
    )
    if (displaced, moves) == (rights.displaced, rights.moves):
        return rights
    return replace(rights, displaced=displaced, moves=moves)


def _wake_reached(waking: _Waking, watchers: Watchers, rights: Rights) -> None:
    """Offer shapes again whose amount may be had now: they may violate another constraint."""
    valid, end, entries = list[_Entry](), 0, watchers.entries
    preemptor = Preemptor(state=waking.state, cq=waking.cq, rights=rights)
    all_reached = True
    for entry in entries:
        units, _, shape, token = entry
        end += 1
        if shape.watch is not token:
            continue
        valid.append(entry)
        if id(shape) in waking.near:
            all_reached = all_reached and token.reached
        elif not token.reached:
            if not may_become_available(preemptor, waking.at.cell, units):
                if all_reached:
                    watchers.shortfall = lack_at_root(preemptor, waking.at.cell)
                    watchers.shortfall_at = waking.version
                    watchers.shortfall_rights = rights
                break
            _offer_again(waking.cq, shape, token)
    if len(valid) < end:
        entries[:end] = valid


def _offer_again(cq: ClusterQueueState, shape: Shape, token: Watch) -> None:
    """Offer a shape again because of what it watches; its watch entries stay in place."""
    if not token.reached:
        token.reached = True
        requeue_shape(cq, shape)


def _is_watched(at: CellWatchers) -> bool:
    return bool(at.named.entries) or any(others.entries for others in at.beyond.values())
