"""Searches victims: for one flavor-resource, or for all that an assignment lacks.

A candidate that is tried is taken out of the live tree and put back before the search ends.

Source: behaviour.md 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from functools import partial

import msgspec

from tidegate.core.flavors.choices import Assignment
from tidegate.core.flavors.fitting import FIT, NO_CANDIDATES, PREEMPT, RECLAIM, Oracle
from tidegate.core.flavors.placement import place_podsets
from tidegate.core.preemption.bounds import may_fit_after_evictions, preemptor_of
from tidegate.core.preemption.classic import classic_victims
from tidegate.core.preemption.fair import fair_victims
from tidegate.core.preemption.trial import Target, Trial, never_preempts
from tidegate.core.quota.charging import flavor_resource
from tidegate.core.quota.forest import forest
from tidegate.core.quota.tree import Cell, add_usage, lowest_fitting_height, remove_usage
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource


def preemption_targets(
    state: State, workload: Workload, assignment: Assignment, *, cq: ClusterQueueState | None = None
) -> list[Target]:
    """Return the workloads to preempt so that an assignment fits; empty: none would suffice."""
    cq = forest(state).cluster_queues[workload.cluster_queue] if cq is None else cq
    needs = lacking_flavor_resources(assignment)
    if not needs:
        return []
    placeable = None
    if any(podset.topology_flavor for podset in assignment.podsets):
        probe = msgspec.structs.replace(assignment, podsets=list(map(copy, assignment.podsets)))
        placeable = partial(_finds_nodes, state, workload, probe)
    return find_targets(state, cq, workload, needs, assignment.usage, placeable)


def _finds_nodes(state: State, workload: Workload, probe: Assignment) -> bool:
    return not place_podsets(state, workload, probe)


def place_without_targets(
    state: State, workload: Workload, assignment: Assignment, targets: list[Target]
) -> None:
    """Set the nodes of an assignment once targets have left; on empty nodes if there are none."""
    for target in targets:
        state.forest.topologies.shift(target.workload.key, -1)
    place_podsets(state, workload, assignment, empty=not targets)
    for target in targets:
        state.forest.topologies.shift(target.workload.key, 1)


def lacking_flavor_resources(assignment: Assignment) -> tuple[FlavorResource, ...]:
    """Return the flavor-resources of an assignment that do not fit without preemption."""
    cells = {
        flavor_resource(choice.flavor, resource): None
        for podset in assignment.podsets
        for resource, choice in podset.choices.items()
        if choice.mode != FIT
    }
    return tuple(cells)


def find_targets(  # noqa: PLR0913, PLR0917 - the preemptor and its requests
    state: State,
    cq: ClusterQueueState,
    workload: Workload,
    needs: Iterable[FlavorResource],
    usage: dict[FlavorResource, int],
    placeable: Callable[[], bool] | None = None,
) -> list[Target]:
    """Return the workloads to preempt so that ``usage`` fits; empty: none would suffice.

    ``needs``: the flavor-resources that do not fit now. ``placeable``: whether pods find nodes.
    """
    amounts = {fr: units for fr, units in usage.items() if units > 0}
    trial = Trial(
        state=state,
        cq=cq,
        workload=workload,
        needs=tuple(needs),
        amounts=amounts,
        placeable=placeable,
    )
    if never_preempts(state, workload.never_preempts):
        return []
    cells = cq.node.cells
    needed = ((cells[fr], amounts[fr]) for fr in trial.needs if fr in amounts)
    preemptor = preemptor_of(state, cq, workload, trial.needs)
    if not all(may_fit_after_evictions(preemptor, cell, units) for cell, units in needed):
        return []
    return fair_victims(trial) if state.policy.fair_sharing else classic_victims(trial)


def preemption_oracle(state: State, cq: ClusterQueueState, workload: Workload) -> Oracle:
    """Return the preemption oracle of flavor assignment: victims for one flavor-resource."""

    def answer(fr: FlavorResource, units: int) -> tuple[int, int]:
        cell = cq.node.cells[fr]
        chosen_targets = find_targets(state, cq, workload, (fr,), {fr: units})
        if not chosen_targets:
            return NO_CANDIDATES, lowest_fitting_height(cell, units)[0]
        own = any(target.cluster_queue == cq.name for target in chosen_targets)
        return (PREEMPT if own else RECLAIM), _level_without(state, chosen_targets, cell, units)

    return answer


def _level_without(state: State, targets: list[Target], cell: Cell, units: int) -> int:
    """Return the height of the smallest subtree that fits an amount once targets have left."""
    cluster_queues = state.forest.cluster_queues
    for target in targets:
        remove_usage(cluster_queues[target.cluster_queue].node, target.workload.charges)
    height = lowest_fitting_height(cell, units)[0]
    for target in targets:
        add_usage(cluster_queues[target.cluster_queue].node, target.workload.charges)
    return height
