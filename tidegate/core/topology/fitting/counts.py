"""Counts how many pods and slices fit into each domain, for one shape of request.

Filled once, which costs O(leaves); after that only changed leaves in the view's log, and the
domains above them, are updated.

Source: behaviour.md 12.3, phase 1; behaviour-notes.md, Topology E.
"""

from __future__ import annotations

import msgspec

from tidegate.core.topology.fitting.ladder import Ladder
from tidegate.core.topology.fitting.matching import Filter, score, unsuitable
from tidegate.core.topology.fitting.request import Layer, inner_size
from tidegate.core.topology.fitting.tree import PODS, Tree, View
from tidegate.model.texts import INT32_MAX

Units = tuple[tuple[str, int], ...]
"""Resource to base units of one pod, by name, without zeros."""
_REFILL_SHARE = 2  # after changes of more than half of the leaves, all are filled again


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What the numbers of a domain depend on beside the free amounts."""

    each: Units
    leader: Units | None = None
    layers: tuple[Layer, ...]
    filter: Filter = Filter()


class Numbers(msgspec.Struct, kw_only=True, eq=False):
    """By domain: pods and slices that fit; "_l": beside the leader."""

    tree: Tree
    view: View
    shape: Shape
    within: range | None = None  # the leaves that may be used; None: all
    pods: list[int] = []
    slices: list[int] = []
    leaders: list[int] = []  # 0 or 1
    pods_l: list[int] = []
    slices_l: list[int] = []
    scores: list[int] | None = None  # by preferred affinity; None: all equal
    why: list[str] = []  # by leaf: what excludes these pods, except resources
    versions: list[int] = []  # by leaf: the version of its nodes for which ``why`` holds
    sizes: list[int] = []  # by level: pods are rounded to multiples of this on the way up
    ladders: dict[int, Ladder] = {}  # by level, created when needed
    at: int = 0  # position in the view's log
    epoch: int = -1

    def follow(self) -> None:
        """Apply the view's changes since the last call."""
        view = self.view
        news = len(view.log) - self.at
        if self.epoch != view.epoch or news * _REFILL_SHARE > view.leaves:
            fill(self)
        elif news:
            for leaf in dict.fromkeys(view.log[self.at :]):
                self._leaf_changed(leaf)
        self.at, self.epoch = len(view.log), view.epoch

    def ladder(self, level: int) -> Ladder:
        """Return the domains of a level, ordered by slices and pods that fit."""
        ladder = self.ladders.get(level)
        if ladder is None:
            ladder = self.ladders[level] = Ladder(slices=self.slices, pods=self.pods)
            ladder.fill(self.tree.level(level))
        return ladder

    def _leaf_changed(self, leaf: int) -> None:
        if self.versions[leaf] != self.tree.versions[leaf]:
            _match(self, leaf)
        if self.shape.leader is None:
            _raise(self, self.tree.leaf_first + leaf, _fitting(self, leaf, self.shape.each))
            return
        domain = self.tree.leaf_first + leaf
        _set_leaf(self, leaf)
        while (domain := self.tree.parent[domain]) >= 0:
            sum_up(self, domain)


def numbers(tree: Tree, view: View, shape: Shape, within: range | None = None) -> Numbers:
    """Return the current numbers of a shape in a view of a tree."""
    counts = Numbers(tree=tree, view=view, shape=shape, within=within)
    counts.sizes = [inner_size(shape.layers, level) for level in range(len(tree.levels))]
    counts.sizes[: shape.layers[0].level + 1] = [1] * (shape.layers[0].level + 1)
    counts.follow()
    return counts


def fill(counts: Numbers) -> None:
    """Compute all numbers again."""
    tree, size = counts.tree, len(counts.tree.values)
    leaderless = counts.shape.leader is None
    counts.pods, counts.slices, counts.leaders = [0] * size, [0] * size, [0] * size
    counts.pods_l = counts.pods if leaderless else [0] * size
    counts.slices_l = counts.slices if leaderless else [0] * size
    counts.scores = [0] * size if counts.shape.filter.preferred and tree.by_node else None
    counts.ladders = {}
    leaves = len(tree.nodes)
    counts.why, counts.versions = [""] * leaves, [-1] * leaves
    for leaf in range(leaves):
        _match(counts, leaf)
        _set_leaf(counts, leaf)
    for domain in range(tree.leaf_first - 1, -1, -1):
        sum_up(counts, domain)


def _match(counts: Numbers, leaf: int) -> None:
    tree = counts.tree
    counts.versions[leaf] = tree.versions[leaf]
    if not tree.by_node:
        return
    nodes = [node for node in tree.nodes[leaf].values() if node.usable]
    request_filter = counts.shape.filter
    counts.why[leaf] = next(
        (why for node in nodes if (why := unsuitable(request_filter, node))), ""
    )
    if counts.scores is not None:
        domain = tree.leaf_first + leaf
        rated = 0 if counts.why[leaf] else sum(score(request_filter, node) for node in nodes)
        news = rated - counts.scores[domain]
        while domain >= 0:
            counts.scores[domain] += news
            domain = tree.parent[domain]


def _fitting(counts: Numbers, leaf: int, each: Units, beside: Units | None = None) -> int:
    """Return how many pods fit into a leaf, ``beside`` one pod with other requests.

    At most as many as a podset may have, so that sums over nodes stay within 64 bits.
    """
    if counts.why[leaf] or (counts.within is not None and leaf not in counts.within):
        return 0
    row = counts.view.row
    if beside is None:
        most = min(row(PODS)[leaf], INT32_MAX)
        for resource, units in each:
            most = min(most, row(resource)[leaf] // units)
        return max(0, most)
    used = dict(beside)
    most = min(row(PODS)[leaf] - 1, INT32_MAX)
    for resource, units in each:
        most = min(most, (row(resource)[leaf] - used.get(resource, 0)) // units)
    return max(0, most)


def _set_leaf(counts: Numbers, leaf: int) -> None:
    domain, shape = counts.tree.leaf_first + leaf, counts.shape
    pods = counts.pods[domain] = _fitting(counts, leaf, shape.each)
    level, size = shape.layers[0]
    at_level = level == len(counts.tree.levels) - 1
    counts.slices[domain] = pods // size if at_level else 0
    if shape.leader is None:
        return
    leader = _fitting(counts, leaf, shape.leader) > 0
    counts.leaders[domain] = 1 if leader else 0
    fewer = _fitting(counts, leaf, shape.each, shape.leader) if leader else pods
    counts.pods_l[domain] = fewer
    counts.slices_l[domain] = fewer // size if at_level else 0


def sum_up(counts: Numbers, domain: int, rounded: int = 0) -> None:
    """Compute a domain's numbers from its children's.

    Their pods count in multiples of ``rounded``; 0: of the size that the layers of slices require.
    """
    children, level = counts.tree.children[domain], len(counts.tree.values[domain]) - 1
    rounded = rounded or counts.sizes[level + 1]
    pods = sum(counts.pods[child] // rounded * rounded for child in children)
    counts.pods[domain], counts.slices[domain] = (
        pods,
        sum(counts.slices[child] for child in children),
    )
    at, size = counts.shape.layers[0]
    if counts.shape.leader is not None:
        _sum_up_with_leader(counts, domain, children, rounded)
    if level == at:
        counts.slices[domain] = counts.pods[domain] // size
        counts.slices_l[domain] = counts.pods_l[domain] // size


def _sum_up_with_leader(counts: Numbers, domain: int, children: range, rounded: int) -> None:
    able = [child for child in children if counts.leaders[child]]
    counts.leaders[domain] = 1 if able else 0
    counts.pods_l[domain] = counts.slices_l[domain] = 0
    if not able:
        return
    lost = min(
        _floor(counts.pods[child], rounded) - _floor(counts.pods_l[child], rounded)
        for child in able
    )
    counts.pods_l[domain] = counts.pods[domain] - lost
    lost = min(counts.slices[child] - counts.slices_l[child] for child in able)
    counts.slices_l[domain] = counts.slices[domain] - lost


def _floor(pods: int, size: int) -> int:
    return pods // size * size


def _raise(counts: Numbers, domain: int, pods: int) -> None:
    """Set a leaf's pods in a request without leader, and update the domains above it."""
    tree, (at, size) = counts.tree, counts.shape.layers[0]
    level, more_slices = len(tree.levels) - 1, 0
    while domain >= 0:
        before = counts.pods[domain]
        if pods == before and not more_slices:
            return
        counts.pods[domain] = pods
        if level == at:
            more_slices = pods // size - counts.slices[domain]
        counts.slices[domain] += more_slices
        ladder = counts.ladders.get(level)
        if ladder is not None:
            ladder.moved(domain)
        rounded = counts.sizes[level]
        more = pods // rounded * rounded - before // rounded * rounded
        domain, level = tree.parent[domain], level - 1
        pods = counts.pods[domain] + more if domain >= 0 else 0
