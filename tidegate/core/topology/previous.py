"""Another place for the pods of a node that failed, beside those that stay where they are.

Source: behaviour.md 12.6; behaviour-notes.md, Topology G; conformance/tas-assignment.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from tidegate.core.topology.fitting.request import Failure, Layer, Request
from tidegate.core.topology.fitting.tree import Tree
from tidegate.core.topology.leaves import Leaves, merged, truncated
from tidegate.core.topology.place import Ask, Outcome, Placed, Placer, asked_by, place_at
from tidegate.model.topology import TopologyAssignment, TopologyDomain, unpack


class _Where(NamedTuple):
    """Which leaves may be used, and what is asked of them."""

    leaves: range | None
    request: Request


def replacement(
    placer: Placer, ask: Ask, before: TopologyAssignment, node: str, beside: Leaves | None = None
) -> Outcome:
    """Return the whole placement of a podset with other leaves for the pods of a failed node.

    The node is not left out as such: it is not ready, is tainted, or the workload's own pods count
    there still. ``beside``: where the rest of its group is, with which it shares what it requires.
    """
    tree = placer.tree
    domains = unpack(before)
    missing = sum(one.count for one in domains if one.values[-1] == node)
    kept = leaves_of(tree, [one for one in domains if one.values[-1] != node])
    if kept is None:
        return Failure(kind="placeGone")
    if not missing:
        return Placed(leaves=tuple(kept))
    asked = asked_by(placer, ask, ask.count)
    if isinstance(asked, Failure):
        return asked
    lack, left = asked.pods - ask.count, replace(asked, pods=missing)
    where = _where(tree, left, kept, beside or [], lack=lack)
    if where.request.pods % where.request.size:
        return Failure(kind="notDivisible", of=missing, fits=where.request.size)
    found = place_at(placer, where.request, ask, None, empty=False, within=where.leaves)
    if isinstance(found, Failure):
        return found
    new = truncated(merged([], [(one.domain, one.amount) for one in found]), missing)
    return Placed(leaves=tuple(merged(kept, new)))


def leaves_of(tree: Tree, domains: list[TopologyDomain]) -> Leaves | None:
    """Return domains of an assignment as leaves; None: one of them is gone."""
    found: Leaves = []
    for one in domains:
        leaf = tree.find(one.values)
        if leaf is None:
            return None
        found.append((leaf, one.count))
    return found


def _where(tree: Tree, asked: Request, kept: Leaves, beside: Leaves, *, lack: int) -> _Where:
    """Return where the pods that a request has left may go.

    ``lack``: how many pods the last slice is short of, because pods are done.
    """
    missing = asked.pods
    if kept and missing % asked.size:
        layer = next(one for one in reversed(asked.layers) if missing % one.size)
        leaves = _incomplete(tree, layer, kept, missing, lack)
        if leaves is not None:
            whole = (one for one in reversed(asked.layers) if missing % one.size == 0)
            inner = next(whole, Layer(len(tree.levels) - 1, 1))
            return _Where(leaves, replace(asked, layers=(inner,)))
    if lack and (missing + lack) % asked.size == 0:  # all of the short slice, and maybe others
        asked = replace(asked, pods=missing + lack)
    there = kept or beside
    if there and asked.mode == "required":
        first = ancestor(tree, there[0][0], asked.start)
        return _Where(leaves_below(tree, first), asked)
    return _Where(None, asked)


def _incomplete(tree: Tree, layer: Layer, kept: Leaves, missing: int, lack: int) -> range | None:
    """Return the leaves of the domain in which the pods that stay lack just as many as failed."""
    stay: dict[int, int] = {}
    for leaf, pods in kept:
        domain = ancestor(tree, leaf, layer.level)
        stay[domain] = stay.get(domain, 0) + pods
    for domain, pods in stay.items():
        if (pods + missing) % layer.size == 0:
            return leaves_below(tree, domain)
    for domain, pods in stay.items():
        if pods % layer.size and (pods + missing + lack) % layer.size == 0:
            return leaves_below(tree, domain)
    return None


def ancestor(tree: Tree, leaf: int, level: int) -> int:
    """Return the domain of a level in which a leaf is."""
    domain = tree.leaf_first + leaf
    for _ in range(len(tree.levels) - 1 - level):
        domain = tree.parent[domain]
    return domain


def leaves_below(tree: Tree, domain: int) -> range:
    """Return the leaves of a domain: they follow each other."""
    first = last = domain
    while tree.children[first]:
        first, last = tree.children[first][0], tree.children[last][-1]
    return range(first - tree.leaf_first, last - tree.leaf_first + 1)
