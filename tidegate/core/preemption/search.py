"""Searches victims: for one flavor-resource, or for all that an assignment lacks.

A candidate that is tried is taken out of the live tree and put back before the search ends.

Source: behaviour.md 6.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import TypeAlias

import msgspec

from tidegate.core.flavors.choices import Assignment
from tidegate.core.flavors.fitting import FIT, NO_CANDIDATES, PREEMPT, RECLAIM
from tidegate.core.flavors.placement import place_podsets
from tidegate.core.preemption.bounds import may_fit_after_evictions, preemptor_of
from tidegate.core.preemption.classic import classic_victims
from tidegate.core.preemption.fair import fair_victims
from tidegate.core.preemption.trial import Target, Trial, never_preempts
from tidegate.core.quota.charging import PODS, flavor_resource
from tidegate.core.quota.tree import Cell, add_usage, lowest_fitting_height, remove_usage
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource

_Needs: TypeAlias = tuple[FlavorResource, ...]


class VictimSearch(msgspec.Struct, kw_only=True, eq=False):
    """Searches victims for one workload, while the tree stays as it is."""

    state: State
    cq: ClusterQueueState  # the workload's
    workload: Workload
    found: dict[tuple[_Needs, tuple[tuple[FlavorResource, int], ...]], list[Target]] = {}
    """Results, by what does not fit now and by all requested amounts; pods may be placed anywhere.

    An assignment of one resource asks for what the oracle was asked already.
    """

    def oracle(self, fr: FlavorResource, units: int) -> tuple[int, int]:
        """Return the mode and height of one flavor-resource, for flavor assignment."""
        cell = self.cq.node.cells[fr]
        targets = self._find((fr,), {fr: units})
        if not targets:
            return NO_CANDIDATES, lowest_fitting_height(cell, units)[0]
        own = any(target.cluster_queue == self.cq.name for target in targets)
        return (PREEMPT if own else RECLAIM), _level_without(self.state, targets, cell, units)

    def targets(self, assignment: Assignment) -> list[Target]:
        """Return the workloads to preempt so that an assignment fits; empty: none would suffice."""
        needs = lacking_flavor_resources(assignment)
        if not needs:
            return []
        usage = _requested(self.state, assignment.usage)
        if not any(podset.topology_flavor for podset in assignment.podsets):
            return self._find(needs, usage)
        probe = msgspec.structs.replace(assignment, podsets=list(map(copy, assignment.podsets)))
        placeable = partial(_finds_nodes, self.state, self.workload, probe)
        return self._search(needs, usage, placeable)

    def _find(self, needs: _Needs, usage: dict[FlavorResource, int]) -> list[Target]:
        key = needs, tuple(usage.items())
        targets = self.found.get(key)
        if targets is None:
            targets = self.found[key] = self._search(needs, usage, None)
        return targets

    def _search(
        self, needs: _Needs, usage: dict[FlavorResource, int], placeable: Callable[[], bool] | None
    ) -> list[Target]:
        """Return the workloads to preempt so that ``usage`` fits; empty: none would suffice.

        ``needs``: the flavor-resources that do not fit now. ``placeable``: if pods find nodes.
        """
        state, cq, workload = self.state, self.cq, self.workload
        if never_preempts(state, workload.never_preempts):
            return []
        amounts = {fr: units for fr, units in usage.items() if units > 0}
        preemptor, cells = preemptor_of(state, cq, workload, needs), cq.node.cells
        for fr in needs:
            if fr in amounts and not may_fit_after_evictions(preemptor, cells[fr], amounts[fr]):
                return []
        trial = Trial(
            state=state,
            cq=cq,
            workload=workload,
            needs=needs,
            amounts=amounts,
            placeable=placeable,
        )
        return fair_victims(trial) if state.policy.fair_sharing else classic_victims(trial)


def _requested(state: State, usage: dict[FlavorResource, int]) -> dict[FlavorResource, int]:
    """Return the amounts that targets have to make room for: by Kueue's rules all but ``pods``.

    Kueue adds ``pods`` to what a workload requests only while it assigns flavors.
    """
    if state.policy.compatibility != "kueue":
        return usage
    return {fr: units for fr, units in usage.items() if fr.resource != PODS}


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


def _level_without(state: State, targets: list[Target], cell: Cell, units: int) -> int:
    """Return the height of the smallest subtree that fits an amount once targets have left."""
    cluster_queues = state.forest.cluster_queues
    for target in targets:
        remove_usage(cluster_queues[target.cluster_queue].node, target.workload.charges)
    height = lowest_fitting_height(cell, units)[0]
    for target in targets:
        add_usage(cluster_queues[target.cluster_queue].node, target.workload.charges)
    return height
