"""Distributes slices over the chosen domains, down to the leaves.

Source: behaviour.md 12.3, phase 2b; behaviour-notes.md, Topology E, F.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from tidegate.core.topology.choosing.choose import best_fit, order, prioritise
from tidegate.core.topology.fitting.counts import Numbers
from tidegate.core.topology.fitting.request import Request, inner_size

Column: TypeAlias = list[int] | dict[int, int]
"""A number for each domain, or for some domains."""


class Part(NamedTuple):
    """The share of one domain."""

    domain: int
    amount: int  # slices or pods
    leaders: int = 0


def descend(numbers: Numbers, request: Request, chosen: list[int]) -> list[Part]:
    """Return the pods of each leaf, the leaves by number; their sum is the requested pods."""
    need, leaders, at = request.needed, request.leaders, request.layers[0].level
    parts = distribute(
        numbers, request, chosen, Part(-1, need, leaders), numbers.slices, numbers.slices_l
    )
    level = len(numbers.tree.values[chosen[0]]) - 1
    while level < at:
        level += 1
        below = [child for part in parts for child in numbers.tree.children[part.domain]]
        below = order(numbers, sorted(below), request)
        whole = Part(-1, need, leaders)
        parts = distribute(numbers, request, below, whole, numbers.slices, numbers.slices_l)
    parts = [Part(part.domain, part.amount * request.size, part.leaders) for part in parts]
    return to_leaves(numbers, request, parts, level)


def to_leaves(numbers: Numbers, request: Request, parts: list[Part], level: int) -> list[Part]:
    """Distribute each domain's pods among its children, level by level."""
    while level < len(numbers.tree.levels) - 1:
        level += 1
        size = inner_size(request.layers, level)
        parts = [child for part in parts for child in _among_children(numbers, request, part, size)]
    handed = sum(part.amount for part in parts)
    assert handed == request.pods, f"{handed} of {request.pods} pods were handed out"
    assert sum(part.leaders for part in parts) == request.leaders, "the leader was not placed"
    return sorted(part for part in parts if part.amount or part.leaders)


def _among_children(numbers: Numbers, request: Request, part: Part, size: int) -> list[Part]:
    children = order(numbers, list(numbers.tree.children[part.domain]), request)
    capacity: Column = numbers.pods
    capacity_l: Column = numbers.pods_l
    if size > 1:
        capacity = {child: numbers.pods[child] // size for child in children}
        capacity_l = {child: numbers.pods_l[child] // size for child in children}
    whole = Part(part.domain, part.amount // size, part.leaders)
    parts = distribute(numbers, request, children, whole, capacity, capacity_l)
    return [Part(share_of.domain, share_of.amount * size, share_of.leaders) for share_of in parts]


def distribute(  # noqa: PLR0913, PLR0917 - the two capacities are columns of one table
    numbers: Numbers,
    request: Request,
    domains: list[int],
    whole: Part,
    capacity: Column,
    capacity_l: Column,
) -> list[Part]:
    """Distribute an amount and the leader over domains in order, to each as much as fits."""
    remaining, leaders, parts = whole.amount, whole.leaders, list[Part]()
    domains = prioritise(numbers, domains, remaining, leaders, capacity, capacity_l)
    for at, domain in enumerate(domains):
        child = domain
        room = capacity_l if leaders > 0 else capacity
        if (
            not request.least_free
            and room[child] >= remaining
            and numbers.leaders[child] >= leaders
        ):
            child = best_fit(numbers, domains[at:], remaining, leaders, room)
        if room[child] >= remaining and numbers.leaders[child] >= leaders:
            parts.append(Part(child, remaining, leaders))
            return parts
        part = Part(child, min(room[child], remaining), min(leaders, numbers.leaders[child]))
        parts.append(part)
        remaining, leaders = remaining - part.amount, leaders - part.leaders
    return parts
