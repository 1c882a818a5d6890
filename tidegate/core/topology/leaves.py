"""Pods by leaf: the form in which placements are put together and cut short."""

from __future__ import annotations

from collections.abc import Iterable

Leaves = list[tuple[int, int]]  # a leaf's number, and how many pods it gets


def merged(first: Iterable[tuple[int, int]], other: Iterable[tuple[int, int]]) -> Leaves:
    """Return two placements as one, in the order of leaves; leaves without pods are left out."""
    total: dict[int, int] = {}
    for leaf, pods in (*first, *other):
        total[leaf] = total.get(leaf, 0) + pods
    return sorted((leaf, pods) for leaf, pods in total.items() if pods)


def truncated(had: Leaves, count: int) -> Leaves:
    """Return the first pods of a placement, so many of them; the last ones go."""
    remaining: Leaves = []
    for leaf, pods in had:
        if count > 0:
            remaining.append((leaf, min(pods, count)))
        count -= pods
    return remaining
