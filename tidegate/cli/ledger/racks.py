"""Topologies of a folded ledger as trees of records: domains, nodes, and what runs on each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from tidegate.core.state.state import State
from tidegate.core.topology.cluster import topologies
from tidegate.core.topology.fitting.matching import shown
from tidegate.core.topology.fitting.tree import PODS, Node, Tree
from tidegate.core.topology.usage import Held, Topologies
from tidegate.errors import UnknownNameError
from tidegate.model.quantity import render

Amounts: TypeAlias = dict[str, int]
_WIDTH = 12


class Domain(msgspec.Struct, kw_only=True):
    """A block, a rack or a node, with what it has and what is used of it, in base units."""

    name: str  # the value of its level's label
    level: str
    nodes: int = 0  # that pods may be placed on
    states: dict[str, int] = {}  # what is wrong with its nodes, or a taint, to how many nodes
    allocatable: Amounts = {}
    placed: Amounts = {}  # by workloads that a topology placed here
    others: Amounts = {}  # by other pods
    workloads: dict[str, int] = {}  # to how many pods each has here
    children: list[Domain] = []

    def used(self, resource: str) -> int:
        """Return what is used of a resource."""
        return self.placed.get(resource, 0) + self.others.get(resource, 0)


class Drawn(msgspec.Struct, kw_only=True):
    """The nodes of one flavor by its topology."""

    topology: str
    flavor: str
    levels: tuple[str, ...]
    domains: list[Domain] = []

    @property
    def resource(self) -> str:
        """Return the resource of which the largest part is used."""
        total = _sum(self.domains)
        parts = {
            name: total.used(name) / units
            for name, units in total.allocatable.items()
            if units > 0 and name != PODS
        }
        return max(sorted(parts), key=parts.__getitem__, default=PODS)


def drawn(state: State, wanted: str = "") -> list[Drawn]:
    """Return each flavor's nodes by its topology; ``wanted``: a topology or flavor by name.

    Raises:
        UnknownNameError: there is none of that name.
    """
    found = topologies(state)
    all_drawn = [
        _flavor(state, found, flavor, placer.tree)
        for flavor, placer in sorted(found.placers.items())
    ]
    chosen = [one for one in all_drawn if wanted in {"", one.topology, one.flavor}]
    if wanted and not chosen:
        there = ", ".join(dict.fromkeys(one.topology for one in all_drawn)) or "none"
        raise UnknownNameError(f"No flavor has a topology {wanted!r}. There are: {there}.")
    return chosen


def rows(found: Drawn, level: str = "") -> Iterator[dict[str, Any]]:
    """Yield a row for each domain from the top, down to a level; empty: down to the lowest."""
    for domain in found.domains:
        yield from _rows(found, domain, level or found.levels[-1], 0)


def written(amounts: Mapping[str, int]) -> str:
    """Return amounts for people, in order of name."""
    return " ".join(f"{name}={render(name, amounts[name])}" for name in sorted(amounts))


def _rows(found: Drawn, domain: Domain, last: str, depth: int) -> Iterator[dict[str, Any]]:
    resource = found.resource
    total, used = domain.allocatable.get(resource, 0), domain.used(resource)
    workloads = sorted(domain.workloads.items())
    yield {
        "name": "  " * depth + domain.name,
        "level": domain.level,
        "nodes": domain.nodes,
        "resource": resource,
        "bar": _bar(domain.placed.get(resource, 0), domain.others.get(resource, 0), total),
        "used": render(resource, used),
        "allocatable": render(resource, total),
        "others": written(domain.others),
        "state": ", ".join(_stated(domain)),
        "workloads": ", ".join(f"{key} ({pods})" for key, pods in workloads),
    }
    if domain.level != last:
        for child in domain.children:
            yield from _rows(found, child, last, depth + 1)


def _bar(placed: int, others: int, total: int) -> str:
    edges = [min(_WIDTH, units * _WIDTH // max(total, 1)) for units in (placed, placed + others)]
    return "█" * edges[0] + "▒" * (edges[1] - edges[0]) + "░" * (_WIDTH - edges[1])


def _flavor(state: State, found: Topologies, flavor: str, tree: Tree) -> Drawn:
    made = [Domain(name=values[-1], level="") for values in tree.values]
    for at, level in enumerate(tree.levels):
        for number in tree.level(at):
            made[number].level = level
    for leaf, nodes in enumerate(tree.nodes):
        _fill(made[tree.leaf_first + leaf], nodes.values())
    for key, one in _held(found, flavor, tree):
        _take(made[tree.leaf_first + tree.number[one.values]], key, one.each, one.pods)
    for number in reversed(range(len(made))):
        made[number].children = [made[child] for child in tree.children[number]]
        if made[number].children:
            _add_up(made[number])
    topology = state.objects.flavors[flavor].spec.topology
    top = [made[number] for number in tree.level(0)]
    return Drawn(topology=topology, flavor=flavor, levels=tree.levels, domains=top)


def _held(found: Topologies, flavor: str, tree: Tree) -> Iterator[tuple[str, Held]]:
    """Yield what workloads hold of a flavor's nodes, which other flavors may have too."""
    shares = found.shared and tree.by_node
    for key, held in found.held.items():
        yield from (
            (key, one)
            for one in held
            if one.values in tree.number and (shares or one.flavor == flavor)
        )


def _fill(leaf: Domain, nodes: Iterable[Node]) -> None:
    for node in nodes:
        leaf.nodes += node.usable
        _plus(leaf.states, dict.fromkeys(_states(node), 1), 1)
        if node.usable:
            _plus(leaf.allocatable, node.spec.allocatable, 1)
            _plus(leaf.others, node.usage, 1)


def _states(node: Node) -> Iterator[str]:
    if not node.spec.ready:
        yield "not ready"
    if node.spec.unschedulable:
        yield "unschedulable"
    yield from (f"taint {shown(taint)}" for taint in node.spec.taints)


def _take(leaf: Domain, key: str, each: Mapping[str, int], pods: int) -> None:
    _plus(leaf.placed, each, pods)
    leaf.workloads[key] = leaf.workloads.get(key, 0) + pods


def _add_up(domain: Domain) -> None:
    total = _sum(domain.children)
    domain.nodes, domain.states = total.nodes, total.states
    domain.allocatable, domain.placed = total.allocatable, total.placed
    domain.others, domain.workloads = total.others, total.workloads


def _sum(domains: Iterable[Domain]) -> Domain:
    """Return the sum of domains."""
    total = Domain(name="", level="")
    for one in domains:
        total.nodes += one.nodes
        for into, amounts in (
            (total.states, one.states),
            (total.allocatable, one.allocatable),
            (total.placed, one.placed),
            (total.others, one.others),
            (total.workloads, one.workloads),
        ):
            _plus(into, amounts, 1)
    return total


def _stated(domain: Domain) -> Iterator[str]:
    for state, nodes in sorted(domain.states.items()):
        yield f"{nodes} {state}" if domain.children else state


def _plus(into: Amounts, amounts: Mapping[str, int], times: int) -> None:
    for name, units in amounts.items():
        into[name] = into.get(name, 0) + units * times
