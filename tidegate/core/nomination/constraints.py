"""The constraints that keep a workload from starting: those in its reason, and a proof.

A constraint is an amount of a quota cell, or a number of slices in a flavor's topology.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tidegate.core.flavors.demands import explained_demand, least_demand
from tidegate.core.flavors.fitting import IN_USE
from tidegate.core.nomination.explain import NODELESS
from tidegate.core.preemption.available import may_be_had, unused
from tidegate.core.preemption.bounds import Preemptor
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import PendingStatus, State, Workload
from tidegate.core.state.workload import Constraint, Part, Parts, Shape, Slot
from tidegate.core.topology.fitting.request import Failure


def named(
    state: State, cq: ClusterQueueState, shape: Shape, workload: Workload
) -> list[Constraint] | None:
    """Return the constraints in a workload's reason; once one holds, it needs a new reason.

    None: the reason names more than constraints.
    """
    pending = workload.pending_status
    if pending is None:
        return []
    if shape.explanation is None or shape.explanation[0] is not pending:
        capacity = topology_constraints(state, workload, pending)
        shape.explanation = pending, None if capacity is None else [*_cells(cq, pending), *capacity]
    return shape.explanation[1]


def topology_constraints(
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


def proof(asking: Preemptor, workload: Workload, parts: Parts) -> list[Constraint] | None:
    """Return a violated constraint for each flavor of one part of a workload, or None."""
    for part in parts.each:
        results = _violated(asking, workload, part)
        if results is not None:
            return results
    return None


def _cells(cq: ClusterQueueState, pending: PendingStatus) -> Iterator[Constraint]:
    for (_, flavor, resource, message), requested in zip(
        pending.tried, pending.requested, strict=True
    ):
        group = cq.group_of.get(resource)  # the queue may be defined without it by now
        if message == IN_USE and group is not None:
            yield from (
                (slot.cells[resource], requested) for slot in group.slots if slot.flavor == flavor
            )


def _violated(asking: Preemptor, workload: Workload, part: Part) -> list[Constraint] | None:
    """Return for each flavor of a part an amount that even evictions could not free, or None."""
    needs = [(name, units) for name, units in part.least.items() if units]
    if not needs:
        return None
    results: list[Constraint] = []
    for slot in part.slots:
        lacking = _of_quota(asking, slot, needs)
        if lacking is None:
            lacking = _of_nodes(asking, workload, part, slot)
        if lacking is None:
            return None
        results += lacking
    return results


def _of_quota(
    asking: Preemptor, slot: Slot, needs: list[tuple[str, int]]
) -> list[Constraint] | None:
    """Return which quota of a flavor is insufficient; empty if more than could ever be free."""
    for name, units in needs:
        cell = slot.cells[name]
        if units > cell.potential:
            return []
        if not may_be_had(asking, cell, units):
            return [(cell, units)]
    return None


def _of_nodes(
    asking: Preemptor, workload: Workload, part: Part, slot: Slot
) -> list[Constraint] | None:
    """Return which capacity of a flavor's nodes is insufficient; empty if it always would be."""
    needed = least_demand(asking.state, asking.cq, workload, part.podsets, slot)
    if needed is None:
        return None
    if isinstance(needed, Failure):
        return []
    capacity, slices = needed
    if may_be_had(asking, capacity, slices):
        return None
    empty = replace(capacity, empty=True)
    return [(empty if slices > unused(asking.state, empty) else capacity, slices)]
