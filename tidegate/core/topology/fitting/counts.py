"""How many pods and slices each domain could take, for one shape of request, kept up to date.

Filled once, which costs O(leaves); after that only the leaves of the view's log are looked at, and
the domains above them.

Source: behaviour.md 12.3, phase 1; behaviour-notes.md, Topology E.
"""

from __future__ import annotations

import msgspec

from tidegate.core.topology.fitting.ladder import Ladder
from tidegate.core.topology.fitting.matching import Filter, score, unsuitable
from tidegate.core.topology.fitting.request import Layer, inner_size
from tidegate.core.topology.fitting.tree import PODS, Tree, View
from tidegate.model.numbers import INT32_MAX

Units = tuple[tuple[str, int], ...]
"""Resource to base units of one pod, by name, without zeros."""
_REFILL_SHARE = 2  # more changes than a half of the leaves: filled anew


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What the numbers of a domain depend on beside what is free."""

    each: Units
    leader: Units | None = None
    layers: tuple[Layer, ...]
    filter: Filter = Filter()


class Numbers(msgspec.Struct, kw_only=True, eq=False):
    """By domain: what it could take; "_l": while the leader sits there too."""

    tree: Tree
    view: View
    shape: Shape
    within: range | None = None  # the leaves that may be used; None: all
    pods: list[int] = []
    slices: list[int] = []
    leaders: list[int] = []  # 0 or 1
    pods_l: list[int] = []
    slices_l: list[int] = []
    scores: list[int] | None = None  # None: all the same
    why: list[str] = []  # by leaf: what keeps these pods off, resources apart
    versions: list[int] = []  # by leaf: the version of its nodes that ``why`` is of
    sizes: list[int] = []  # by level: to a multiple of what pods are rounded on the way up
    ladders: dict[int, Ladder] = {}  # by level, as far as anybody asked
    at: int = 0  # how far the view's log is followed
    epoch: int = -1

    def follow(self) -> None:
        """Take what changed in the view since the last time."""
        view = self.view
        news = len(view.log) - self.at
        if self.epoch != view.epoch or news * _REFILL_SHARE > view.leaves:
            fill(self)
        elif news:
            for leaf in dict.fromkeys(view.log[self.at :]):
                self._leaf_changed(leaf)
        self.at, self.epoch = len(view.log), view.epoch

    def ladder(self, level: int) -> Ladder:
        """Return the domains of a level by what they could take."""
        found = self.ladders.get(level)
        if found is None:
            found = self.ladders[level] = Ladder(slices=self.slices, pods=self.pods)
            found.fill(self.tree.level(level))
        return found

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
    """Return the numbers of a shape in a view of a tree as they are now."""
    made = Numbers(tree=tree, view=view, shape=shape, within=within)
    made.sizes = [inner_size(shape.layers, level) for level in range(len(tree.levels))]
    made.sizes[: shape.layers[0].level + 1] = [1] * (shape.layers[0].level + 1)
    made.follow()
    return made


def fill(found: Numbers) -> None:
    """Compute everything anew."""
    tree, size = found.tree, len(found.tree.values)
    leaderless = found.shape.leader is None
    found.pods, found.slices, found.leaders = [0] * size, [0] * size, [0] * size
    found.pods_l = found.pods if leaderless else [0] * size
    found.slices_l = found.slices if leaderless else [0] * size
    found.scores = [0] * size if found.shape.filter.preferred and tree.by_node else None
    found.ladders = {}
    leaves = len(tree.nodes)
    found.why, found.versions = [""] * leaves, [-1] * leaves
    for leaf in range(leaves):
        _match(found, leaf)
        _set_leaf(found, leaf)
    for domain in range(tree.leaf_first - 1, -1, -1):
        sum_up(found, domain)


def _match(found: Numbers, leaf: int) -> None:
    tree = found.tree
    found.versions[leaf] = tree.versions[leaf]
    if not tree.by_node:
        return
    nodes = [one for one in tree.nodes[leaf].values() if one.usable]
    asked = found.shape.filter
    found.why[leaf] = next((why for one in nodes if (why := unsuitable(asked, one))), "")
    if found.scores is not None:
        domain = tree.leaf_first + leaf
        news = sum(score(asked, one) for one in nodes) - found.scores[domain]
        while domain >= 0:
            found.scores[domain] += news
            domain = tree.parent[domain]


def _fitting(found: Numbers, leaf: int, each: Units, beside: Units | None = None) -> int:
    """Return how many pods fit in a leaf, ``beside`` one pod that asks for other amounts.

    No more than a podset may have: sums of what nodes claim to have stay numbers of 64 bits.
    """
    if found.why[leaf] or (found.within is not None and leaf not in found.within):
        return 0
    row = found.view.row
    if beside is None:
        most = min(row(PODS)[leaf], INT32_MAX)
        for resource, units in each:
            most = min(most, row(resource)[leaf] // units)
        return max(0, most)
    taken = dict(beside)
    most = min(row(PODS)[leaf] - 1, INT32_MAX)
    for resource, units in each:
        most = min(most, (row(resource)[leaf] - taken.get(resource, 0)) // units)
    return max(0, most)


def _set_leaf(found: Numbers, leaf: int) -> None:
    domain, shape = found.tree.leaf_first + leaf, found.shape
    pods = found.pods[domain] = _fitting(found, leaf, shape.each)
    level, size = shape.layers[0]
    at_level = level == len(found.tree.levels) - 1
    found.slices[domain] = pods // size if at_level else 0
    if shape.leader is None:
        return
    leader = _fitting(found, leaf, shape.leader) > 0
    found.leaders[domain] = 1 if leader else 0
    fewer = _fitting(found, leaf, shape.each, shape.leader) if leader else pods
    found.pods_l[domain] = fewer
    found.slices_l[domain] = fewer // size if at_level else 0


def sum_up(found: Numbers, domain: int, rounded: int = 0) -> None:
    """Compute a domain's numbers from its children's.

    Their pods count in multiples of ``rounded``; 0: as the layers of slices have it.
    """
    children, level = found.tree.children[domain], len(found.tree.values[domain]) - 1
    rounded = rounded or found.sizes[level + 1]
    pods = sum(found.pods[one] // rounded * rounded for one in children)
    found.pods[domain], found.slices[domain] = pods, sum(found.slices[one] for one in children)
    at, size = found.shape.layers[0]
    if found.shape.leader is not None:
        _sum_up_with_leader(found, domain, children, rounded)
    if level == at:
        found.slices[domain] = found.pods[domain] // size
        found.slices_l[domain] = found.pods_l[domain] // size


def _sum_up_with_leader(found: Numbers, domain: int, children: range, rounded: int) -> None:
    able = [one for one in children if found.leaders[one]]
    found.leaders[domain] = 1 if able else 0
    found.pods_l[domain] = found.slices_l[domain] = 0
    if not able:
        return
    lost = min(
        _floor(found.pods[one], rounded) - _floor(found.pods_l[one], rounded) for one in able
    )
    found.pods_l[domain] = found.pods[domain] - lost
    lost = min(found.slices[one] - found.slices_l[one] for one in able)
    found.slices_l[domain] = found.slices[domain] - lost


def _floor(pods: int, size: int) -> int:
    return pods // size * size


def _raise(found: Numbers, domain: int, pods: int) -> None:
    """Set a leaf's pods, no leader being asked for, and carry the difference up."""
    tree, (at, size) = found.tree, found.shape.layers[0]
    level, more_slices = len(tree.levels) - 1, 0
    while domain >= 0:
        before = found.pods[domain]
        if pods == before and not more_slices:
            return
        found.pods[domain] = pods
        if level == at:
            more_slices = pods // size - found.slices[domain]
        found.slices[domain] += more_slices
        ladder = found.ladders.get(level)
        if ladder is not None:
            ladder.moved(domain)
        rounded = found.sizes[level]
        more = pods // rounded * rounded - before // rounded * rounded
        domain, level = tree.parent[domain], level - 1
        pods = found.pods[domain] + more if domain >= 0 else 0
