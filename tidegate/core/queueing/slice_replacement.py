"""Replaces a slice of an elastic job by a newer one, and says when that is impossible.

Source: behaviour.md 13.
"""

from __future__ import annotations

from tidegate.core.state.remotes import Dispatch
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource

_LEFT = ("evicting", "pending", "inactive")


def replaced_leaves(state: State, workload: Workload) -> bool:
    """Tell whether a workload cannot replace its older slice because that was evicted."""
    older = state.workloads.get(workload.replaces)
    return older is not None and older.elastic and older.phase in _LEFT


def find_place(state: State, workload: Workload) -> None:
    """Link a new workload with the slice that it replaces, and with the slice that replaces it.

    The latter may exist before it, if its job joined late the slice that was sent for it.
    """
    older = state.workloads.get(workload.replaces)
    if older is not None and workload.elastic:
        older.successor = workload.key
    if not (workload.elastic and workload.prebuilt):
        return
    for key in state.by_queue.get(workload.local_queue, ()):
        other = state.workloads[key]
        if other.elastic and other.replaces == workload.key:
            workload.successor = key


def take_place_of(state: State, workload: Workload, replaces: str, *, elastic: bool) -> None:
    """Set the slice that a workload replaces from now on; empty: none."""
    older = state.workloads.get(replaces) if replaces != workload.replaces else None
    if older is not None and elastic:
        older.successor = workload.key
    workload.replaces = replaces


def hand_over(state: State, workload: Workload) -> None:
    """Let the slice that replaced a workload stand for its job, which runs by the same order."""
    heir = state.workloads.get(workload.successor)
    if heir is None or heir.job.uid != workload.job.uid:
        return  # the manager cluster of a job that was sent here says when its slice changes
    state.by_uid[workload.job.uid] = heir.key
    heir.state, heir.state_us, heir.order = workload.state, workload.state_us, workload.order
    heir.version = max(heir.version, workload.version)
    heir.executed_us = workload.executed_us
    heir.reclaimable = workload.reclaimable
    if workload.dispatch is not None and workload.dispatch.ran:
        heir.dispatch = Dispatch(ran=True)  # its job shows the status of a worker cluster


def beyond(
    state: State, workload: Workload, charges: tuple[tuple[FlavorResource, int], ...]
) -> tuple[tuple[FlavorResource, int], ...]:
    """Return the charges of a workload beyond those of the slice that it is to replace."""
    older = state.workloads.get(workload.replaces)
    if older is None or not older.elastic:
        return charges
    had = dict(older.charges)
    return tuple((fr, max(0, units - had.get(fr, 0))) for fr, units in charges)
