"""Queues and cohorts with their quota as events define them, and what that allows: a small model.

It shares no code with the core, and knows nothing of lending limits: no world has any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.facts import (
    ClusterQueueDefined,
    ClusterQueueRemoved,
    CohortDefined,
    CohortRemoved,
    FactEvent,
)
from tidegate.model.quota import ResourceGroup

Used = Callable[[set[str], str], int]
"""What some ClusterQueues hold of a flavor together, in milli-CPU."""


class Node(NamedTuple):
    """A ClusterQueue or a cohort; amounts of CPU by flavor, in thousandths."""

    parent: str
    nominal: dict[str, int]
    borrowing: dict[str, int | None]


_NO_COHORT = Node("", {}, {})


class QuotaTree:
    """Which queues share what, by name; a cohort that only queues name has no quota of its own."""

    def __init__(self) -> None:
        self.queues = dict[str, Node]()
        self._cohorts = dict[str, Node]()

    def take_in(self, event: FactEvent | DecisionEvent) -> None:
        """Follow one event."""
        match event:
            case ClusterQueueDefined():
                self.queues[event.name] = _node(event.spec.cohort, event.spec.groups)
            case ClusterQueueRemoved():
                self.queues.pop(event.name, None)
            case CohortDefined():
                self._cohorts[event.name] = _node(event.spec.parent, event.spec.groups)
            case CohortRemoved():
                self._cohorts.pop(event.name, None)
            case _:
                pass

    def excesses(self, queue: str, flavor: str, used: Used) -> Iterator[str]:
        """Yield each place from a queue to its root where more is held than may be."""
        at, queues = self.queues[queue], {queue}
        limits = [(queue, queues, at)]
        while at.parent:
            name, at = at.parent, self._cohorts.get(at.parent, _NO_COHORT)
            limits.append((f"cohort {name}", self._below(name), at))
        for name, below, node in limits:
            most = self._quota(below, name, flavor)
            borrowing = node.borrowing.get(flavor)
            held = used(below, flavor)
            may_borrow = bool(node.parent)
            if held > most + (borrowing or 0) and not (may_borrow and borrowing is None):
                yield f"{name} holds {held}m of {most}m of {flavor}"

    def _below(self, cohort: str) -> set[str]:
        """Return the queues of a cohort and of those below it."""
        names = {name for name, node in self.queues.items() if node.parent == cohort}
        for name, node in self._cohorts.items():
            if node.parent == cohort:
                names |= self._below(name)
        return names

    def _quota(self, below: set[str], name: str, flavor: str) -> int:
        own = sum(self.queues[text].nominal.get(flavor, 0) for text in below)
        return own + self._given(name.removeprefix("cohort "), flavor)

    def _given(self, cohort: str, flavor: str) -> int:
        """Return what a cohort and those below it add of their own."""
        number = self._cohorts.get(cohort, _NO_COHORT).nominal.get(flavor, 0)
        children = (name for name, made in self._cohorts.items() if made.parent == cohort)
        return number + sum(self._given(name, flavor) for name in children)


def _node(parent: str, groups: tuple[ResourceGroup, ...]) -> Node:
    quotas = {flavor.flavor: flavor.quotas["cpu"] for group in groups for flavor in group.flavors}
    nominal = {name: quota.nominal for name, quota in quotas.items()}
    return Node(parent, nominal, {name: quota.borrowing_limit for name, quota in quotas.items()})
