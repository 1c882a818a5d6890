"""Capacity for the pods of one request in a flavor's topology, as compared by a constraint.

It is the number of slices, or pods, that fit in one domain of a level, or in all domains together.
An eviction never lowers it, so a podset that needs more cannot be placed, however the other podsets
are placed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tidegate.core.topology.evictable import Limits
from tidegate.core.topology.fitting.counts import Numbers, Shape
from tidegate.core.topology.fitting.request import Failure
from tidegate.core.topology.place import Ask, Placer, podset_request, shape_of, worker_and_leader
from tidegate.core.topology.usage import Topologies


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """Identifies a capacity: the slices of one shape at a level of a flavor's topology."""

    flavor: str
    shape: Shape
    level: int | None  # one domain of this level must take all; None: all domains together
    empty: bool = False  # as if all nodes were unused


class Demand(NamedTuple):
    """A number of slices that must fit into a capacity."""

    capacity: Capacity
    slices: int


def demand(
    placer: Placer, flavor: str, asks: Sequence[Ask], *, at_least: bool = False
) -> Demand | Failure | None:
    """Return the least demand of podsets that are placed together; None: not known.

    A failure: no number of nodes would suffice.

    Args:
        placer: of the flavor's topology.
        flavor: its name.
        asks: one podset, or a leader and its workers.
        at_least: the counts are minimums; any larger number of pods would also do.
    """
    workers, leader = worker_and_leader(asks)
    other = None if leader is None or not asks[leader].count else asks[leader]
    if placer.options.balanced or (other is not None and other.count > 1):
        return None
    ask = asks[workers]
    if ask.previous is not None or not ask.count:
        return None
    request = podset_request(placer, ask, 0 if at_least else ask.count, leader=other is not None)
    if isinstance(request, Failure):
        return request
    level = request.start if request.mode == "required" else None
    shape, slices = (
        shape_of(placer, request, ask, other),
        (ask.count if at_least else request.pods) // request.size,
    )
    return Demand(Capacity(flavor=flavor, shape=shape, level=level), slices) if slices else None


def fitting_slices(topologies: Topologies, capacity: Capacity) -> int:
    """Return how many slices fit now; -1: not even the leader fits.

    Costs O(leaves changed since the last call), and for all domains together their top level.
    """
    placer = topologies.placers.get(capacity.flavor)
    if placer is None or not placer.tree.values:
        return 0
    return _most_slices(placer.numbers(capacity.shape, of=capacity.empty), capacity)


def slices_without_candidates(topologies: Topologies, capacity: Capacity, limits: Limits) -> int:
    """Return how many slices would fit without all candidates; costs as ``fitting_slices``."""
    placer = topologies.placers.get(capacity.flavor)
    if placer is None or not placer.tree.values:
        return 0
    return _most_slices(
        topologies.numbers_without_candidates(limits, capacity.flavor, capacity.shape), capacity
    )


def _most_slices(numbers: Numbers, capacity: Capacity) -> int:
    if capacity.shape.leader is not None:
        return _slices_beside_leader(numbers, capacity.level)
    if capacity.level is None:
        return sum(numbers.slices[domain] for domain in numbers.tree.level(0))
    top = numbers.ladder(capacity.level).largest()
    return 0 if top is None else numbers.slices[top]


def _slices_beside_leader(numbers: Numbers, level: int | None) -> int:
    domains = numbers.tree.level(level or 0)
    able = [domain for domain in domains if numbers.leaders[domain]]
    if not able:
        return -1
    if level is not None:
        return max(numbers.slices_l[domain] for domain in able)
    return sum(numbers.slices[domain] for domain in domains)
