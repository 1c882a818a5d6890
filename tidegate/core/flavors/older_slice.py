"""The flavors and amounts of an elastic job's older slice, which a newer one replaces.

Source: behaviour.md 13.
"""

from __future__ import annotations

from tidegate.core.quota.charging import charged_units
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Slot
from tidegate.model.podset import PodSet


def replaced(
    state: State, workload: Workload, podsets: list[PodSet], resource: str, flavor: str
) -> int:
    """Return the units of a flavor charged for these podsets of the slice that is replaced."""
    if not workload.replaces:
        return 0
    had = (_had(state, workload, podset.name, resource) for podset in podsets)
    return sum(units for name, units in had if name == flavor)


def moves(
    state: State, workload: Workload, podset: PodSet, slot: Slot, resources: list[str]
) -> bool:
    """Tell whether a flavor differs from that of the slice that a workload replaces."""
    had = (_had(state, workload, podset.name, resource)[0] for resource in resources)
    return any(flavor not in ("", slot.flavor) for flavor in had)


def _had(state: State, workload: Workload, podset: str, resource: str) -> tuple[str, int]:
    """Return the replaced slice's flavor and amount of a resource; no flavor if it has none."""
    older = state.workloads.get(workload.replaces)
    for assignment in () if older is None else older.assignment:
        if older is not None and assignment.name == podset and resource in assignment.flavors:
            return assignment.flavors[resource], charged_units(older, assignment, resource)
    return "", 0
