"""The topology request of a podset, or of a group of two, by level numbers; or why it is invalid.

Source: behaviour.md 12.2, 12.3 (Grouping); behaviour-notes.md, Topology A and B.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import msgspec

from tidegate.model.podset import TopologyRequest

FailureKind = Literal[
    "pods",  # too few pods fit
    "layers",  # too few pods fit, with several layers of slices
    "noDomainsAtLevel",
    "unknownSliceLevel",
    "sliceLevelAbovePodSetLevel",
    "sliceSizeMissing",
    "noLevel",
    "notDivisible",
    "sliceSizes",
    "leaderCount",
    "groupSize",
    "placeGone",
    "domains",  # too many domains for one workload
]


class Layer(NamedTuple):
    """A layer of slices: ``size`` pods share a domain of a level."""

    level: int
    size: int


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The requirements on the placement of one podset or group."""

    pods: int  # without the leader
    leader: bool = False
    start: int  # the level at which the search begins; 0: the top
    mode: Literal["required", "preferred", "unconstrained"]
    layers: tuple[Layer, ...]  # of slices, from the outermost; at least one
    least_free: bool = False  # fill up the fullest domains first; else best fit

    @property
    def leaders(self) -> int:
        """Return how many leaders have to be placed: 1 or 0."""
        return 1 if self.leader else 0

    @property
    def size(self) -> int:
        """Return the number of pods of one slice."""
        return self.layers[0].size

    @property
    def needed(self) -> int:
        """Return the number of slices to place."""
        return self.pods // self.size


class LayerFits(NamedTuple):
    """How many slices of one layer fit."""

    level: str
    fits: int
    of: int


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why pods could not be placed."""

    kind: FailureKind
    level: str = ""  # the level that is missing, or requested
    other: str = ""  # the level of the slices, where that is above
    fits: int = 0
    of: int = 0
    unit: Literal["pod", "slice"] = "pod"
    layers: tuple[LayerFits, ...] = ()


def request(  # noqa: PLR0913 - the parts of a request
    levels: Sequence[str],
    topology_request: TopologyRequest | None,
    pods: int,
    *,
    leader: bool,
    implied: bool,
    mixed: bool,
    short: bool = False,
) -> Request | Failure:
    """Return a request by level numbers.

    Args:
        levels: of the topology, from the top.
        topology_request: as the owner wrote it.
        pods: without the leader.
        leader: one more pod is to be placed beside one of them.
        implied: a podset without a request may be placed anywhere.
        mixed: gate TASProfileMixed: fill up the fullest domains if no pods have to be together.
        short: pods are reclaimable, so the last slice may be incomplete: a whole one is requested.
    """
    wish = topology_request or TopologyRequest()
    layers = _layers(levels, wish)
    if isinstance(layers, Failure):
        return layers
    named = wish.required or wish.preferred
    sliced = bool(wish.slice_required or wish.layers)
    if not (named or wish.unconstrained or sliced or implied):
        return Failure(kind="noLevel")
    if named and named not in levels:
        return Failure(kind="noDomainsAtLevel", level=named)
    start = levels.index(named) if named else 0 if sliced else len(levels) - 1
    if layers[0].level < start:
        slices, expected = levels[layers[0].level], levels[start]
        return Failure(kind="sliceLevelAbovePodSetLevel", level=expected, other=slices)
    lack = -pods % layers[0].size
    if lack and not short:
        return Failure(kind="notDivisible", of=pods, fits=layers[0].size)
    return Request(
        pods=pods + lack,
        leader=leader,
        start=start,
        mode="required" if wish.required else "preferred" if named else "unconstrained",
        layers=layers,
        least_free=mixed and not named,
    )


def _layers(levels: Sequence[str], wish: TopologyRequest) -> tuple[Layer, ...] | Failure:
    resources = [(layer.level, layer.size) for layer in wish.layers]
    if not resources and wish.slice_required:
        resources = [(wish.slice_required, wish.slice_size)]
    for level, size in resources:
        if size <= 0:
            return Failure(kind="sliceSizeMissing")
        if level not in levels:
            return Failure(kind="unknownSliceLevel", level=level)
    resolved = tuple(Layer(levels.index(level), size) for level, size in resources)
    for outer, inner in pairwise(resolved):
        if inner.level <= outer.level:
            upper, lower = levels[inner.level], levels[outer.level]
            return Failure(kind="sliceLevelAbovePodSetLevel", level=lower, other=upper)
        if outer.size % inner.size:
            return Failure(kind="sliceSizes", of=outer.size, fits=inner.size)
    return resolved or (Layer(len(levels) - 1, 1),)


def inner_size(layers: tuple[Layer, ...], level: int) -> int:
    """Return the size of the slices in a domain of a level below the first layer, in pods.

    The levels between two layers have the inner one's size; 1: single pods.
    """
    return next((layer.size for layer in layers[1:] if layer.level >= level), 1)
