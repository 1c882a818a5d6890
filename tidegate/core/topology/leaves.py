"""Placements as pods by leaf: merging and truncating them."""

from __future__ import annotations

from collections.abc import Iterable

Leaves = list[tuple[int, int]]  # a leaf's number, and how many pods it gets


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
