"""Deadlines at which rules run for a workload or object: a heap in the state, changed by folds.

A deadline has a key, "<family>/<name>". ``TimePassed`` moves deadlines that have passed to
``state.deadlines.due``, where they stay until a later fold sets or clears them, so that no rule
misses one. Setting a key again moves its deadline; the heap keeps the outdated entry until that
comes to the top.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tidegate.core.state.state import State

OF_WORKLOADS = (
    "repair",  # see tidegate.core.state.desired_state
    "requeue",  # see tidegate.core.reconcile.timeouts
    "ready",  # these five: see tidegate.core.folding.workload_deadlines
    "execution",
    "retention",
    "asked",
    "guarantee",
    "ungate",  # see tidegate.core.folding.variants
    "remote",  # see tidegate.core.multikueue.fold
)
"""Families whose names are workload keys: their deadlines are cleared with the workload."""
FAMILIES = (*OF_WORKLOADS, "stray", "copy", "usage", "budget")
"""All families; ``stray`` is by the uid of an object without a workload, ``copy`` by a copy's uid.

``usage`` is by ClusterQueue: see ``tidegate.core.queueing.admission_fair_sharing``; ``budget`` by
owner and resource: see ``tidegate.core.state.budgets``.
"""
OUTDATED_MAX = 1_024
"""How many outdated entries the heap may hold beyond one for each valid entry."""


class Deadlines(msgspec.Struct, kw_only=True):
    """Keys and their times, UTC microseconds."""

    heap: list[tuple[int, str]] = []  # its first entry is always valid, the others may be outdated
    at: dict[str, int] = {}  # key to the deadline that holds
    due: dict[str, int] = {}  # key to a deadline that passed and is not handled yet


def set(state: State, key: str, at_us: int) -> None:  # noqa: A001 - read as deadlines.set
    """Set the deadline of a key to ``at_us``, in place of an earlier one."""
    assert key.partition("/")[0] in FAMILIES, f"no family of {key}"
    deadlines = state.deadlines
    deadlines.due.pop(key, None)
    if deadlines.at.get(key) == at_us:
        return
    deadlines.at[key] = at_us
    heappush(deadlines.heap, (at_us, key))
    _drop_outdated(deadlines)


def set_due(state: State, key: str) -> None:
    """Make a key due at once: the next ``decide`` handles it."""
    clear(state, key)
    state.deadlines.due[key] = state.now_us


def clear(state: State, key: str) -> None:
    """Remove a key's deadline, due or not; does nothing if it has none."""
    deadlines = state.deadlines
    deadlines.due.pop(key, None)
    if deadlines.at.pop(key, None) is not None:
        _drop_outdated(deadlines)


def clear_workload(state: State, workload: str) -> None:
    """Remove all deadlines of a workload that was deleted or has finished."""
    for family in OF_WORKLOADS:
        clear(state, f"{family}/{workload}")


def next_due(state: State) -> int | None:
    """Return when the next deadline is due, or None; O(1), changes nothing."""
    heap = state.deadlines.heap
    return heap[0][0] if heap else None


def due(state: State, family: str) -> list[str]:
    """Return the names in a family's keys that are due, the oldest first."""
    start = family + "/"
    return [key[len(start) :] for key in state.deadlines.due if key.startswith(start)]


def fire(state: State) -> list[str]:
    """Make all deadlines due that ``state.now_us`` has reached; return their keys by time, key.

    Only the fold of ``TimePassed`` calls this: without heartbeats no deadline becomes due.
    """
    deadlines, fired = state.deadlines, list[str]()
    while deadlines.heap and deadlines.heap[0][0] <= state.now_us:
        at_us, key = heappop(deadlines.heap)
        del deadlines.at[key]
        deadlines.due[key] = at_us
        fired.append(key)
        _drop_outdated(deadlines)
    return fired


def _drop_outdated(deadlines: Deadlines) -> None:
    heap, at = deadlines.heap, deadlines.at
    if len(heap) > 2 * len(at) + OUTDATED_MAX:
        heap[:] = sorted((when, key) for key, when in at.items())  # a sorted list is a heap
    while heap and at.get(heap[0][1]) != heap[0][0]:
        heappop(heap)
