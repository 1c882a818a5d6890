"""Quota in a cohort tree, written a second time and for clarity only, to check the core against.

Nothing here is shared with ``tidegate.core``: amounts are summed anew for every question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tidegate.model.ids import FlavorResource
from tidegate.model.quantity import UNLIMITED
from tidegate.model.quota import ClusterQueueSpec, CohortSpec, Quota, ResourceGroup

Usage = dict[FlavorResource, int]


@dataclass
class Node:
    """A ClusterQueue or a cohort."""

    parent: str = ""  # a cohort's name; empty: a root
    quotas: dict[FlavorResource, Quota] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)
    own: Usage = field(default_factory=lambda: defaultdict(int))  # what its workloads hold

    def quota(self, fr: FlavorResource) -> Quota:
        """Return its own quota of a flavor-resource; none is nothing, without limits."""
        return self.quotas.get(fr, Quota(nominal=0))

    def subtree(self, fr: FlavorResource) -> int:
        """Return its quota and what its children put into the pool."""
        lent = (child.subtree(fr) - child.kept(fr) for child in self.children)
        return _capped(self.quota(fr).nominal + sum(lent))

    def kept(self, fr: FlavorResource) -> int:
        """Return what it keeps for itself: above its lending limit, if it has one."""
        limit = self.quota(fr).lending_limit
        return 0 if limit is None else max(0, self.subtree(fr) - limit)

    def usage(self, fr: FlavorResource) -> int:
        """Return what it uses: a cohort, what its children use beyond what they keep."""
        beyond = (max(0, child.usage(fr) - child.kept(fr)) for child in self.children)
        return self.own.get(fr, 0) + sum(beyond)


class Forest:
    """All cohort trees of a configuration and what is used in them."""

    def __init__(
        self, queues: Mapping[str, ClusterQueueSpec], cohorts: Mapping[str, CohortSpec]
    ) -> None:
        self.cohorts = {
            name: Node(spec.parent, _quotas(spec.groups)) for name, spec in cohorts.items()
        }
        self.queues = {
            name: Node(spec.cohort, _quotas(spec.groups)) for name, spec in queues.items()
        }
        for node in [*self.queues.values(), *self.cohorts.values()]:
            self._adopt(node)

    def _adopt(self, node: Node) -> None:
        if not node.parent:
            return
        if node.parent not in self.cohorts:  # implied: no quota, no parent
            self.cohorts[node.parent] = Node()
        self.cohorts[node.parent].children.append(node)

    def use(self, queue: str, usage: Mapping[FlavorResource, int], sign: int = 1) -> None:
        """Add to what a queue's workloads hold, or take it away."""
        for fr, units in usage.items():
            self.queues[queue].own[fr] += sign * units

    def available(self, node: Node, fr: FlavorResource) -> int:
        """Return what may still be taken; negative where more is used than there is."""
        if not node.parent:
            return node.subtree(fr) - node.usage(fr)
        kept, used, limit = node.kept(fr), node.usage(fr), node.quota(fr).borrowing_limit
        pool = self.available(self.cohorts[node.parent], fr)
        if limit is not None:
            pool = min(pool, node.subtree(fr) - kept - max(0, used - kept) + limit)
        return max(0, kept - used) + pool

    def fits(self, queue: str, usage: Mapping[FlavorResource, int]) -> bool:
        """Tell whether a queue may take this at once."""
        node = self.queues[queue]
        return all(
            units <= max(0, self.available(node, fr)) for fr, units in usage.items() if units
        )

    def root(self, queue: str) -> str:
        """Return the name of a queue's tree: its root cohort, or itself."""
        name, node = queue, self.queues[queue]
        while node.parent:
            name, node = node.parent, self.cohorts[node.parent]
        return name


def _quotas(groups: Iterable[ResourceGroup]) -> dict[FlavorResource, Quota]:
    return {
        FlavorResource(flavor.flavor, resource): quota
        for group in groups
        for flavor in group.flavors
        for resource, quota in flavor.quotas.items()
    }


def _capped(units: int) -> int:
    return min(units, UNLIMITED)
