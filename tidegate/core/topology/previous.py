"""Replaces a failed node in a placement: other nodes for its pods, beside the pods that stay.

Source: behaviour.md 12.6; behaviour-notes.md, Topology G; conformance/tas-assignment.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from tidegate.core.topology.fitting.request import Failure, Layer, Request
from tidegate.core.topology.fitting.tree import Leaves, Tree, merged, truncated
from tidegate.core.topology.place import Ask, Outcome, Placed, Placer, place_request, podset_request
from tidegate.model.topology import TopologyAssignment, TopologyDomain, unpack


class _AllowedLeaves(NamedTuple):
    """The leaves that may be used, and the request to place there."""

    leaves: range | None
    request: Request


def replacement(
    placer: Placer, ask: Ask, before: TopologyAssignment, node: str, beside: Leaves | None = None
) -> Outcome:
    """Return the whole placement of a podset with other leaves for the pods of a failed node.

    The node itself needs no exclusion: it is not ready, is tainted, or the workload's own pods
    still use it. ``beside``: the leaves of the rest of its group, with the same required level.
    """
    tree = placer.tree
    domains = unpack(before)
    missing = sum(domain.count for domain in domains if domain.values[-1] == node)
    remaining = leaves_of(tree, [domain for domain in domains if domain.values[-1] != node])
    if remaining is None:
        return Failure(kind="placeGone")
    if not missing:
        return Placed(leaves=tuple(remaining))
    request = podset_request(placer, ask, ask.count)
    if isinstance(request, Failure):
        return request
    lack, wanted_request = request.pods - ask.count, replace(request, pods=missing)
    where = _allowed_leaves(tree, wanted_request, remaining, beside or [], lack=lack)
    if where.request.pods % where.request.size:
        return Failure(kind="notDivisible", of=missing, fits=where.request.size)
    results = place_request(placer, where.request, ask, None, empty=False, within=where.leaves)
    if isinstance(results, Failure):
        return results
    new = truncated(merged([], [(part.domain, part.amount) for part in results]), missing)
    return Placed(leaves=tuple(merged(remaining, new)))


def leaves_of(tree: Tree, domains: list[TopologyDomain]) -> Leaves | None:
    """Return domains of an assignment as leaves; None: one of them is gone."""
    results: Leaves = []
    for domain in domains:
        leaf = tree.find(domain.values)
        if leaf is None:
            return None
        results.append((leaf, domain.count))
    return results


def _allowed_leaves(
    tree: Tree, request: Request, remaining: Leaves, beside: Leaves, *, lack: int
) -> _AllowedLeaves:
    """Return the leaves in which the missing pods may be placed.

    ``lack``: how many pods the last slice lacks, because pods are reclaimable.
    """
    missing = request.pods
    if remaining and missing % request.size:
        layer = next(layer for layer in reversed(request.layers) if missing % layer.size)
        leaves = _leaves_of_incomplete_slice(tree, layer, remaining, missing, lack)
        if leaves is not None:
            return _AllowedLeaves(leaves, _whole_slice_request(tree, request))
    if lack and (missing + lack) % request.size == 0:  # all of the incomplete slice, maybe others
        request = replace(request, pods=missing + lack)
    present = remaining or beside
    if present and request.mode == "required":
        first = ancestor(tree, present[0][0], request.start)
        return _AllowedLeaves(_leaves_below(tree, first), request)
    return _AllowedLeaves(None, request)


def _whole_slice_request(tree: Tree, request: Request) -> Request:
    """Return a request with the innermost slices that its pods fill; else of single pods."""
    whole = (layer for layer in reversed(request.layers) if request.pods % layer.size == 0)
    inner, lowest = next(whole, None), len(tree.levels) - 1
    if inner is not None:
        return replace(request, layers=(inner,))
    start = lowest if request.mode == "unconstrained" else request.start
    return replace(request, layers=(Layer(lowest, 1),), start=start)


def _leaves_of_incomplete_slice(
    tree: Tree, layer: Layer, remaining: Leaves, missing: int, lack: int
) -> range | None:
    """Return the leaves of the domain whose slices lack exactly the missing pods, or None."""
    stay: dict[int, int] = {}
    for leaf, pods in remaining:
        domain = ancestor(tree, leaf, layer.level)
        stay[domain] = stay.get(domain, 0) + pods
    for domain, pods in stay.items():
        if (pods + missing) % layer.size == 0:
            return _leaves_below(tree, domain)
    for domain, pods in stay.items():
        if pods % layer.size and (pods + missing + lack) % layer.size == 0:
            return _leaves_below(tree, domain)
    return None


def ancestor(tree: Tree, leaf: int, level: int) -> int:
    """Return a leaf's domain of a level."""
    domain = tree.leaf_first + leaf
    for _ in range(len(tree.levels) - 1 - level):
        domain = tree.parent[domain]
    return domain


def _leaves_below(tree: Tree, domain: int) -> range:
    """Return the leaves of a domain, which are adjacent."""
    first = last = domain
    while tree.children[first]:
        first, last = tree.children[first][0], tree.children[last][-1]
    return range(first - tree.leaf_first, last - tree.leaf_first + 1)
