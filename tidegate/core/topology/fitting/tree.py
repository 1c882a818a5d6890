"""A topology over a flavor's nodes: domains as a tree, and what is free in each leaf.

Domains are numbered level by level from the top and within one by their values, so that a smaller
number comes first in every tie, and the children of a domain follow each other. What is free is
kept as one row of integers per resource; a log of the leaves that changed lets each request's
numbers (``tidegate.core.topology.fitting.counts``) follow without looking at the others.

Source: behaviour.md 12.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tidegate.model.topology import HOSTNAME, NodeSpec

PODS = "pods"
Amounts = Mapping[str, int]
_LOG_MIN = 1_024


class Node(msgspec.Struct, kw_only=True, frozen=True):
    """A node as a leaf sees it."""

    name: str
    spec: NodeSpec
    usage: dict[str, int] = {}  # by pods that are not placed here

    @property
    def usable(self) -> bool:
        """Tell whether pods may be placed there, as far as the node itself is concerned."""
        return self.spec.ready is True and not self.spec.unschedulable


class View(msgspec.Struct, kw_only=True, eq=False):
    """What is free in each leaf, under one assumption about who runs there."""

    rows: dict[str, list[int]] = {}  # resource to base units by leaf; may be negative
    leaves: int = 0
    log: list[int] = []  # positions of leaves whose amounts changed
    epoch: int = 0  # raised when the log was cut: who follows it begins anew

    def add(self, leaf: int, amounts: Amounts, times: int) -> None:
        """Change what is free in a leaf by ``times`` the amounts."""
        for resource, units in amounts.items():
            self.row(resource)[leaf] += units * times
        self.changed(leaf)

    def row(self, resource: str) -> list[int]:
        """Return a resource's row; one that no node has is all zeros."""
        results = self.rows.get(resource)
        if results is None:
            results = self.rows[resource] = [0] * self.leaves
        return results

    def changed(self, leaf: int) -> None:
        """Note that something about a leaf is not as it was."""
        self.log.append(leaf)
        if len(self.log) > _LOG_MIN + 4 * self.leaves:
            self.log.clear()
            self.epoch += 1


class Tree(msgspec.Struct, kw_only=True, eq=False):
    """The domains of one flavor's topology; private to its maker."""

    levels: tuple[str, ...]  # node labels from the top
    values: list[tuple[str, ...]] = []  # of each domain: its own and those above
    parent: list[int] = []  # -1: at the top
    children: list[range] = []
    first: list[int] = []  # the number of each level's first domain; one more: of all domains
    nodes: list[dict[str, Node]] = []  # by leaf: its nodes by name
    number: dict[tuple[str, ...], int] = {}  # a leaf's position by its values
    free: View = msgspec.field(default_factory=View)
    """What is left beside all pods."""
    empty: View = msgspec.field(default_factory=View)
    """What would be left if no pod had been placed here."""
    present: list[int] = []  # by domain: its nodes that are usable
    versions: list[int] = []  # by leaf: raised when a node of it changed

    @property
    def leaf_first(self) -> int:
        """Return the number of the first leaf's domain."""
        return self.first[-2]

    @property
    def by_node(self) -> bool:
        """Tell whether a leaf is a node: then taints, selectors and affinity are looked at."""
        return self.levels[-1] == HOSTNAME

    def level(self, at: int) -> range:
        """Return the domains of a level."""
        return range(self.first[at], self.first[at + 1])

    def shown(self, leaf: int) -> tuple[str, ...]:
        """Return a leaf's values as an assignment records them."""
        values = self.values[self.leaf_first + leaf]
        return values[-1:] if self.by_node else values

    def find(self, values: Sequence[str]) -> int | None:
        """Return the leaf that an assignment names, if it has a usable node; None: it is gone."""
        leaf = self.number.get(tuple(values))
        return leaf if leaf is not None and self.present[self.leaf_first + leaf] else None

    def charge(self, leaf: int, each: Amounts, pods: int) -> None:
        """Note that pods were placed in a leaf; a negative number: that they are gone.

        ``each``: what one takes of a node, itself among it (``pods``: 1).
        """
        self.free.add(leaf, each, -pods)

    def place_node(self, node: Node) -> bool:
        """Take a node as it is now; tell whether the tree has its leaf, else it has to be rebuilt.

        Costs O(levels + resources).
        """
        leaf = self.number.get(_shown(self.levels, self.by_node, node.spec))
        domain_node = None if leaf is None else self.nodes[leaf].get(node.name)
        if leaf is not None and domain_node is None and self._is_elsewhere(leaf, node):
            return True
        if (
            leaf is None
            or domain_node is None
            or _path(self.levels, domain_node) != _path(self.levels, node)
        ):
            return False
        self.count(leaf, domain_node, -1)
        self.nodes[leaf][node.name] = node
        self.count(leaf, node, 1)
        self.versions[leaf] += 1
        return True

    def _is_elsewhere(self, leaf: int, node: Node) -> bool:
        """Tell whether another node has a node's hostname, so that it is left out, as before."""
        path = _path(self.levels, node)
        first = path is not None and self.values[self.leaf_first + leaf] < path
        return first and not any(node.name in nodes for nodes in self.nodes)

    def count(self, leaf: int, node: Node, sign: int) -> None:
        """Add a node to a leaf's domains (``sign`` 1), or take it off (-1)."""
        for view in (self.free, self.empty):
            if node.usable:
                for amounts, times in ((node.spec.allocatable, sign), (node.usage, -sign)):
                    for resource, units in amounts.items():
                        view.row(resource)[leaf] += units * times
            view.changed(leaf)
        domain = self.leaf_first + leaf
        while node.usable and domain >= 0:
            self.present[domain] += sign
            domain = self.parent[domain]


def build(levels: Sequence[str], nodes: Iterable[Node]) -> Tree:
    """Return the tree of those nodes that have a label for every level: O(nodes log nodes).

    A hostname leads pods to one leaf: of nodes that share one, those of the first path are taken.
    """
    tree = Tree(levels=tuple(levels))
    by_path: dict[tuple[str, ...], list[Node]] = {}
    for node in nodes:
        path = _path(tree.levels, node)
        if path is not None:
            by_path.setdefault(path, []).append(node)
    if tree.by_node:
        first = {path[-1]: path for path in sorted(by_path, reverse=True)}
        by_path = {path: by_path[path] for path in first.values()}
    numbers = dict[tuple[str, ...], int]()
    for depth in range(1, len(tree.levels) + 1):
        tree.first.append(len(tree.values))
        for path in sorted({path_of[:depth]: None for path_of in by_path}):
            numbers[path] = len(tree.values)
            tree.values.append(path)
            tree.parent.append(numbers.get(path[:-1], -1))
    tree.first.append(len(tree.values))
    tree.present = [0] * len(tree.values)
    tree.children = _children(tree)
    _fill(tree, by_path)
    return tree


def values_of(tree: Tree, spec: NodeSpec) -> tuple[str, ...]:
    """Return the values of the leaf that a node is in, as an assignment records them."""
    return _shown(tree.levels, tree.by_node, spec)


def has_labels(levels: Sequence[str], spec: NodeSpec) -> bool:
    """Tell whether a node has a label for every level."""
    return all(level in spec.labels for level in levels)


def _fill(tree: Tree, by_path: dict[tuple[str, ...], list[Node]]) -> None:
    leaves = tree.level(len(tree.levels) - 1)
    tree.versions = [0] * len(leaves)
    for view in (tree.free, tree.empty):
        view.leaves = len(leaves)
        view.row(PODS)
    for leaf, domain in enumerate(leaves):
        tree.number[tree.shown(leaf)] = leaf
        tree.nodes.append({})
        for node in by_path[tree.values[domain]]:
            tree.nodes[leaf][node.name] = node
            tree.count(leaf, node, 1)


def _children(tree: Tree) -> list[range]:
    results: list[range] = []
    for level in range(len(tree.levels)):
        at = tree.first[level + 1]
        for domain in tree.level(level):
            begin = at
            while at < len(tree.values) and tree.parent[at] == domain:
                at += 1
            results.append(range(begin, at))
    return results


def _path(levels: tuple[str, ...], node: Node) -> tuple[str, ...] | None:
    labels = node.spec.labels
    return tuple(labels[level] for level in levels) if has_labels(levels, node.spec) else None


def _shown(levels: tuple[str, ...], by_node: bool, spec: NodeSpec) -> tuple[str, ...]:  # noqa: FBT001
    path = tuple(spec.labels.get(level, "") for level in levels)
    return path[-1:] if by_node else path
