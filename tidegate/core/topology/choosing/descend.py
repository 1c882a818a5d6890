"""Slices handed out over the chosen domains, down to the leaves.

Source: behaviour.md 12.3, phase 2b; behaviour-notes.md, Topology E, F.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from tidegate.core.topology.choosing.choose import best_fit, order, prioritise
from tidegate.core.topology.fitting.counts import Numbers
from tidegate.core.topology.fitting.request import Request, inner_size

Column: TypeAlias = list[int] | dict[int, int]
"""A number for each domain, or for those that are looked at."""


class Part(NamedTuple):
    """What one domain gets."""

    domain: int
    amount: int  # slices or pods
    leaders: int = 0


def descend(found: Numbers, asked: Request, chosen: list[int]) -> list[Part]:
    """Return what each leaf gets, in pods, the leaves by number: as many as were asked for."""
    need, leaders, at = asked.needed, asked.leaders, asked.layers[0].level
    parts = distribute(found, asked, chosen, Part(-1, need, leaders), found.slices, found.slices_l)
    level = len(found.tree.values[chosen[0]]) - 1
    while level < at:
        level += 1
        below = [child for one in parts for child in found.tree.children[one.domain]]
        below = order(found, sorted(below), asked)
        whole = Part(-1, need, leaders)
        parts = distribute(found, asked, below, whole, found.slices, found.slices_l)
    parts = [Part(one.domain, one.amount * asked.size, one.leaders) for one in parts]
    return to_leaves(found, asked, parts, level)


def to_leaves(found: Numbers, asked: Request, parts: list[Part], level: int) -> list[Part]:
    """Hand out each domain's pods among its own children, level by level."""
    while level < len(found.tree.levels) - 1:
        level += 1
        size = inner_size(asked.layers, level)
        parts = [child for one in parts for child in _among_children(found, asked, one, size)]
    handed = sum(one.amount for one in parts)
    assert handed == asked.pods, f"{handed} of {asked.pods} pods were handed out"
    assert sum(one.leaders for one in parts) == asked.leaders, "the leader got no place"
    return sorted(one for one in parts if one.amount or one.leaders)


def _among_children(found: Numbers, asked: Request, part: Part, size: int) -> list[Part]:
    children = order(found, list(found.tree.children[part.domain]), asked)
    capacity: Column = found.pods
    capacity_l: Column = found.pods_l
    if size > 1:
        capacity = {one: found.pods[one] // size for one in children}
        capacity_l = {one: found.pods_l[one] // size for one in children}
    whole = Part(part.domain, part.amount // size, part.leaders)
    given = distribute(found, asked, children, whole, capacity, capacity_l)
    return [Part(one.domain, one.amount * size, one.leaders) for one in given]


def distribute(  # noqa: PLR0913, PLR0917 - the two capacities are columns of one table
    found: Numbers,
    asked: Request,
    domains: list[int],
    whole: Part,
    capacity: Column,
    capacity_l: Column,
) -> list[Part]:
    """Hand out an amount and the leader over domains in order, each as much as it can take."""
    left, leaders, given = whole.amount, whole.leaders, list[Part]()
    domains = prioritise(found, domains, left, leaders, capacity, capacity_l)
    for at, domain in enumerate(domains):
        one = domain
        here = capacity_l if leaders > 0 else capacity
        if not asked.least_free and here[one] >= left and found.leaders[one] >= leaders:
            one = best_fit(found, domains[at:], left, leaders, here)
        if here[one] >= left and found.leaders[one] >= leaders:
            given.append(Part(one, left, leaders))
            return given
        part = Part(one, min(here[one], left), min(leaders, found.leaders[one]))
        given.append(part)
        left, leaders = left - part.amount, leaders - part.leaders
    return given
