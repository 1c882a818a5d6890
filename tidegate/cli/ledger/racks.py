"""Topologies of a folded ledger as trees of records: domains, nodes, and what runs on each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from tidegate.core.state.state import State
from tidegate.core.topology.cluster import topologies
from tidegate.core.topology.fitting.matching import taint_text
from tidegate.core.topology.fitting.tree import PODS, Node, Tree
from tidegate.core.topology.usage import PlacedPods, Topologies
from tidegate.errors import UnknownNameError, existing
from tidegate.model.quantity import format_quantity

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
        """Return the usage of a resource."""
        return self.placed.get(resource, 0) + self.others.get(resource, 0)


class TopologyView(msgspec.Struct, kw_only=True):
    """The nodes of one flavor by its topology."""

    topology: str
    flavor: str
    levels: tuple[str, ...]
    domains: list[Domain] = []

    @property
    def resource(self) -> str:
        """Return the resource of which the largest part is used."""
        total = _sum_of_domains(self.domains)
        parts = {
            name: total.used(name) / units
            for name, units in total.allocatable.items()
            if units > 0 and name != PODS
        }
        return max(sorted(parts), key=parts.__getitem__, default=PODS)


def topology_views(state: State, expected: str = "") -> list[TopologyView]:
    """Return each flavor's nodes by its topology; ``expected``: a topology or flavor by name.

    Raises:
        UnknownNameError: there is none of that name.
    """
    of_state = topologies(state)
    all_drawn = [
        _flavor_view(state, of_state, flavor, placer.tree)
        for flavor, placer in sorted(of_state.placers.items())
    ]
    chosen = [
        drawing for drawing in all_drawn if expected in {"", drawing.topology, drawing.flavor}
    ]
    if expected and not chosen:
        listed = ", ".join(dict.fromkeys(drawing.topology for drawing in all_drawn))
        raise UnknownNameError(f"No flavor has a topology {expected!r}. {existing(listed)}")
    return chosen


def domain_rows(drawing: TopologyView, level: str = "") -> Iterator[dict[str, Any]]:
    """Yield a row for each domain from the top, down to a level; empty: down to the lowest."""
    resource = drawing.resource  # it is derived from all of them
    for domain in drawing.domains:
        yield from _domain_rows(resource, domain, level or drawing.levels[-1], 0)


def amounts_text(amounts: Mapping[str, int]) -> str:
    """Return amounts for people, in order of name."""
    return " ".join(f"{name}={format_quantity(name, amounts[name])}" for name in sorted(amounts))


def _domain_rows(resource: str, domain: Domain, last: str, depth: int) -> Iterator[dict[str, Any]]:
    total, used = domain.allocatable.get(resource, 0), domain.used(resource)
    workloads = sorted(domain.workloads.items())
    yield {
        "name": "  " * depth + domain.name,
        "level": domain.level,
        "nodes": domain.nodes,
        "resource": resource,
        "bar": _usage_bar(domain.placed.get(resource, 0), domain.others.get(resource, 0), total),
        "used": format_quantity(resource, used),
        "allocatable": format_quantity(resource, total),
        "others": amounts_text(domain.others),
        "state": ", ".join(node_state_texts(domain)),
        "workloads": ", ".join(f"{key} ({pods})" for key, pods in workloads),
    }
    if domain.level != last:
        for child in domain.children:
            yield from _domain_rows(resource, child, last, depth + 1)


def _usage_bar(placed: int, others: int, total: int) -> str:
    edges = [min(_WIDTH, units * _WIDTH // max(total, 1)) for units in (placed, placed + others)]
    return "█" * edges[0] + "▒" * (edges[1] - edges[0]) + "░" * (_WIDTH - edges[1])


def _flavor_view(state: State, of_state: Topologies, flavor: str, tree: Tree) -> TopologyView:
    domains = [Domain(name=values[-1], level="") for values in tree.values]
    for at, level in enumerate(tree.levels):
        for number in tree.level(at):
            domains[number].level = level
    for leaf, nodes in enumerate(tree.nodes):
        _add_nodes(domains[tree.leaf_first + leaf], nodes.values())
    for key, holding in _pods_on_flavor(of_state, flavor, tree):
        _add_workload_pods(
            domains[tree.leaf_first + tree.number[holding.values]], key, holding.each, holding.pods
        )
    for number in reversed(range(len(domains))):
        domains[number].children = [domains[child] for child in tree.children[number]]
        if domains[number].children:
            _sum_children(domains[number])
    topology = state.objects.flavors[flavor].spec.topology
    top = [domains[number] for number in tree.level(0)]
    return TopologyView(topology=topology, flavor=flavor, levels=tree.levels, domains=top)


def _pods_on_flavor(
    of_state: Topologies, flavor: str, tree: Tree
) -> Iterator[tuple[str, PlacedPods]]:
    """Yield what workloads hold of a flavor's nodes, which other flavors may have too."""
    shares = of_state.shared and tree.by_node
    for key, holdings in of_state.placed.items():
        yield from (
            (key, holding)
            for holding in holdings
            if holding.values in tree.number and (shares or holding.flavor == flavor)
        )


def _add_nodes(leaf: Domain, nodes: Iterable[Node]) -> None:
    for node in nodes:
        leaf.nodes += node.usable
        _add_amounts(leaf.states, dict.fromkeys(_node_states(node), 1), 1)
        if node.usable:
            _add_amounts(leaf.allocatable, node.spec.allocatable, 1)
            _add_amounts(leaf.others, node.usage, 1)


def _node_states(node: Node) -> Iterator[str]:
    if not node.spec.ready:
        yield "not ready"
    if node.spec.unschedulable:
        yield "unschedulable"
    yield from (f"taint {taint_text(taint)}" for taint in node.spec.taints)


def _add_workload_pods(leaf: Domain, key: str, each: Mapping[str, int], pods: int) -> None:
    _add_amounts(leaf.placed, each, pods)
    leaf.workloads[key] = leaf.workloads.get(key, 0) + pods


def _sum_children(domain: Domain) -> None:
    total = _sum_of_domains(domain.children)
    domain.nodes, domain.states = total.nodes, total.states
    domain.allocatable, domain.placed = total.allocatable, total.placed
    domain.others, domain.workloads = total.others, total.workloads


def _sum_of_domains(domains: Iterable[Domain]) -> Domain:
    """Return the sum of domains."""
    total = Domain(name="", level="")
    for domain in domains:
        total.nodes += domain.nodes
        for into, amounts in (
            (total.states, domain.states),
            (total.allocatable, domain.allocatable),
            (total.placed, domain.placed),
            (total.others, domain.others),
            (total.workloads, domain.workloads),
        ):
            _add_amounts(into, amounts, 1)
    return total


def node_state_texts(domain: Domain) -> Iterator[str]:
    """Yield what is wrong with a domain's nodes, and of how many."""
    for state, nodes in sorted(domain.states.items()):
        yield f"{nodes} {state}" if domain.children else state


def _add_amounts(into: Amounts, amounts: Mapping[str, int], times: int) -> None:
    for name, units in amounts.items():
        into[name] = into.get(name, 0) + units * times
