"""A topology over a flavor's nodes: a tree of domains, and the free amounts of each leaf.

Domains are numbered level by level from the top, and within a level by their values, so that the
smaller number comes first in every tie, and the children of a domain are adjacent. Free amounts are
one row of integers per resource; by a log of changed leaves each request's numbers
(``tidegate.core.topology.fitting.counts``) are updated without visiting other leaves.

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
    """A node of a leaf, with its foreign usage."""

    name: str
    spec: NodeSpec
    usage: dict[str, int] = {}  # by pods that this scheduler did not place

    @property
    def usable(self) -> bool:
        """Tell whether a node is ready and schedulable."""
        return self.spec.ready is True and not self.spec.unschedulable


class View(msgspec.Struct, kw_only=True, eq=False):
    """The free amounts of each leaf, under one assumption about which pods run there."""

    rows: dict[str, list[int]] = {}  # resource to base units by leaf; may be negative
    leaves: int = 0
    log: list[int] = []  # positions of leaves whose amounts changed
    epoch: int = 0  # raised when the log is cleared: readers then start again

    def add(self, leaf: int, amounts: Amounts, times: int) -> None:
        """Change the free amounts of a leaf by ``times`` the amounts."""
        for resource, units in amounts.items():
            self.row(resource)[leaf] += units * times
        self.changed(leaf)

    def row(self, resource: str) -> list[int]:
        """Return a resource's row; all zeros if no node has the resource."""
        results = self.rows.get(resource)
        if results is None:
            results = self.rows[resource] = [0] * self.leaves
        return results

    def changed(self, leaf: int) -> None:
        """Log that a leaf changed."""
        self.log.append(leaf)
        if len(self.log) > _LOG_MIN + 4 * self.leaves:
            self.log.clear()
            self.epoch += 1


class Tree(msgspec.Struct, kw_only=True, eq=False):
    """The domains of one flavor's topology; private to its owner."""

    levels: tuple[str, ...]  # node labels from the top
    values: list[tuple[str, ...]] = []  # by domain: label values from the top
    parent: list[int] = []  # -1: at the top
    children: list[range] = []
    first: list[int] = []  # the number of each level's first domain; last: the count of domains
    nodes: list[dict[str, Node]] = []  # by leaf: its nodes by name
    number: dict[tuple[str, ...], int] = {}  # a leaf's position by its values
    free: View = msgspec.field(default_factory=View)
    """Amounts that are free beside all pods."""
    empty: View = msgspec.field(default_factory=View)
    """Amounts that would be free if this scheduler had placed no pods."""
    present: list[int] = []  # by domain: the number of its usable nodes
    versions: list[int] = []  # by leaf: raised when a node of it changed

    @property
    def leaf_first(self) -> int:
        """Return the number of the first leaf's domain."""
        return self.first[-2]

    @property
    def by_node(self) -> bool:
        """Tell whether each leaf is a node: then taints, selectors and affinity count."""
        return self.levels[-1] == HOSTNAME

    def level(self, at: int) -> range:
        """Return the domains of a level."""
        return range(self.first[at], self.first[at + 1])

    def shown(self, leaf: int) -> tuple[str, ...]:
        """Return a leaf's values as in an assignment."""
        values = self.values[self.leaf_first + leaf]
        return values[-1:] if self.by_node else values

    def find(self, values: Sequence[str]) -> int | None:
        """Return the leaf with an assignment's values; None: it has no usable node, or is gone."""
        leaf = self.number.get(tuple(values))
        return leaf if leaf is not None and self.present[self.leaf_first + leaf] else None

    def charge(self, leaf: int, each: Amounts, pods: int) -> None:
        """Add placed pods to a leaf; a negative number removes pods.

        ``each``: the amounts that one pod uses of a node, including ``pods``: 1.
        """
        self.free.add(leaf, each, -pods)

    def place_node(self, node: Node) -> bool:
        """Update a node; return False if the tree lacks its leaf and must be rebuilt.

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
        """Tell whether a node is left out because another node has the same hostname."""
        path = _path(self.levels, node)
        first = path is not None and self.values[self.leaf_first + leaf] < path
        return first and not any(node.name in nodes for nodes in self.nodes)

    def count(self, leaf: int, node: Node, sign: int) -> None:
        """Add a node to a leaf and its domains (``sign`` 1), or remove it (-1)."""
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


Leaves = list[tuple[int, int]]  # a leaf's number, and how many pods it gets


def build(levels: Sequence[str], nodes: Iterable[Node]) -> Tree:
    """Return the tree of the nodes that have a label for every level: O(nodes log nodes).

    A hostname must identify one leaf: of nodes with equal hostnames only those of the first path
    are included.
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
    """Return the values of a node's leaf, as in an assignment."""
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


def merged(first: Iterable[tuple[int, int]], other: Iterable[tuple[int, int]]) -> Leaves:
    """Return the sum of two placements, in the order of leaves, without empty leaves."""
    total: dict[int, int] = {}
    for leaf, pods in (*first, *other):
        total[leaf] = total.get(leaf, 0) + pods
    return sorted((leaf, pods) for leaf, pods in total.items() if pods)


def truncated(had: Leaves, count: int) -> Leaves:
    """Return the first ``count`` pods of a placement."""
    remaining: Leaves = []
    for leaf, pods in had:
        if count > 0:
            remaining.append((leaf, min(pods, count)))
        count -= pods
    return remaining
