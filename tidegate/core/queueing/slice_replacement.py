"""A slice of an elastic job takes the place of another, and when it cannot.

Source: behaviour.md 13.
"""

from __future__ import annotations

from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource

_LEFT = ("evicting", "pending", "inactive")


def replaced_leaves(state: State, workload: Workload) -> bool:
    """Tell whether the slice that a workload would replace has to leave, so that it cannot."""
    older = state.workloads.get(workload.replaces)
    return older is not None and older.elastic and older.phase in _LEFT


def hand_over(state: State, workload: Workload) -> None:
    """Let the slice that replaced a workload stand for its job: that runs, as it was ordered to."""
    heir = state.workloads.get(workload.successor)
    if heir is None:
        return
    state.by_uid[workload.job.uid] = heir.key
    heir.state, heir.state_us, heir.order = workload.state, workload.state_us, workload.order
    heir.version = max(heir.version, workload.version)
    heir.executed_us = workload.executed_us
    heir.reclaimable = workload.reclaimable


def beyond(
    state: State, workload: Workload, charges: tuple[tuple[FlavorResource, int], ...]
) -> tuple[tuple[FlavorResource, int], ...]:
    """Return what charges are beyond those of the slice that a workload is to replace."""
    older = state.workloads.get(workload.replaces)
    if older is None or not older.elastic:
        return charges
    had = dict(older.charges)
    return tuple((fr, max(0, units - had.get(fr, 0))) for fr, units in charges)
