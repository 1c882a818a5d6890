"""The weighted share of each ClusterQueue and Cohort, kept up as usage and quota change.

Tree and arithmetic are the core's own, so that what is shown is what fair sharing compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import msgspec

from actuator.projection.queues.numbers import Numbers
from tidegate.contracts.fact_kinds.definitions import (
    ClusterQueueDefined,
    ClusterQueueRemoved,
    CohortDefined,
    CohortRemoved,
    PolicyConfigured,
)
from tidegate.core.quota import forest
from tidegate.core.quota.charging import flavor_resource
from tidegate.core.quota.shares import dominant_share
from tidegate.core.quota.tree import Node, add_usage
from tidegate.core.state.cluster_queues import Forest
from tidegate.core.state.state import State

Redefined: TypeAlias = (
    ClusterQueueDefined | ClusterQueueRemoved | CohortDefined | CohortRemoved | PolicyConfigured
)
"""What shares depend on beside usage."""


class SharesSeen(msgspec.Struct, frozen=True):
    """Kubernetes shows shares, so fair sharing was on when that was written."""


class Shares:
    """Quota as a tree, with the usage that the queues' numbers say."""

    def __init__(self, numbers: Mapping[str, Numbers]) -> None:
        """``numbers`` is by ClusterQueue, and kept up by the owner."""
        self._state = State()  # of it only the definitions and the forest are used
        self._numbers = numbers
        self._configured = False  # EVENTS had the configuration; else it is the default
        self._reported = dict[tuple[str, str], int | None]()  # by kind and name
        self.on = False

    def define(self, event: Redefined) -> None:
        """Take in a definition; shares are built anew when they are asked for next."""
        objects = self._state.objects
        match event:
            case ClusterQueueDefined():
                objects.cluster_queues[event.name] = event
            case ClusterQueueRemoved():
                objects.cluster_queues.pop(event.name, None)
            case CohortDefined():
                objects.cohorts[event.name] = event
            case CohortRemoved():
                objects.cohorts.pop(event.name, None)
            case PolicyConfigured():
                self._configured, self.on = True, bool(event.policy.fair_sharing)
        self._state.forest.stale = True

    def assume_configured(self) -> None:
        """Assume fair sharing, unless EVENTS had the configuration."""
        self.on = self.on or not self._configured

    def charge(self, cluster_queue: str, usage: Mapping[tuple[str, str], int], sign: int) -> None:
        """Add usage, by (flavor, resource), to a queue and its cohorts, or take it off (-1)."""
        trees = self._state.forest
        if not trees.stale and (at := trees.cluster_queues.get(cluster_queue)) is not None:
            _charge(at.node, usage, sign)

    def cohorts_above(self, cluster_queue: str) -> Iterator[str]:
        """Yield the Cohorts with shares that a queue's usage may change; none before a rebuild."""
        trees = self._state.forest
        at = None if trees.stale else trees.cluster_queues.get(cluster_queue)
        node = None if at is None else at.node.parent
        while node is not None:
            if node.name in self._state.objects.cohorts:
                yield node.name
            node = node.parent

    def of_queue(self, name: str) -> int | None:
        """Return a ClusterQueue's share in thousandths; None: it has none to show."""
        at = self._forest().cluster_queues.get(name) if self.on else None
        return None if at is None else dominant_share(at.node).rounded()

    def of_cohort(self, name: str) -> int | None:
        """Return a Cohort's share in thousandths; None: it has none to show."""
        node = self._forest().cohorts.get(name) if self.on else None
        return None if node is None else dominant_share(node).rounded()

    def take_changed(self) -> list[tuple[str, str]]:
        """Return the kind and name of each with a share changed since the last call."""
        queues, cohorts = self._state.objects.cluster_queues, self._state.objects.cohorts
        shares = {("ClusterQueue", name): self.of_queue(name) for name in queues}
        shares |= {("Cohort", name): self.of_cohort(name) for name in cohorts}
        moved = [place for place, now in shares.items() if self._reported.get(place) != now]
        self._reported = shares
        return moved

    def _forest(self) -> Forest:
        if not self._state.forest.stale:
            return self._state.forest
        trees = forest.forest(self._state)
        for name, numbers in self._numbers.items():
            if name in trees.cluster_queues:
                _charge(trees.cluster_queues[name].node, numbers.reserved_usage, 1)
        return trees


def _charge(node: Node, usage: Mapping[tuple[str, str], int], sign: int) -> None:
    add_usage(node, [(flavor_resource(*place), sign * units) for place, units in usage.items()])
