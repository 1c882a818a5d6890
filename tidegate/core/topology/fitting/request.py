"""What a podset, or a group of two, asks of a topology, in numbers of levels; or what is wrong.

Source: behaviour.md 12.2, 12.3 (Grouping); behaviour-notes.md, Topology A and B.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import msgspec

from tidegate.model.podset import TopologyRequest

FailureKind = Literal[
    "pods",  # too few would fit
    "layers",  # the same of several layers of slices
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
    "domains",  # too many for one workload
]


class Layer(NamedTuple):
    """So many pods that share a domain of a level."""

    level: int
    size: int


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Where the pods of one podset or group are to be placed."""

    pods: int  # without the leader
    leader: bool = False
    start: int  # the level at which the search begins; 0: the top
    mode: Literal["required", "preferred", "unconstrained"]
    layers: tuple[Layer, ...]  # of slices, from the outermost; at least one
    least_free: bool = False  # the fullest domain that suffices first; else the best fit

    @property
    def leaders(self) -> int:
        """Return how many leaders have to be placed: 1 or none."""
        return 1 if self.leader else 0

    @property
    def size(self) -> int:
        """Return the pods of one slice."""
        return self.layers[0].size

    @property
    def needed(self) -> int:
        """Return the slices to place."""
        return self.pods // self.size


class LayerFits(NamedTuple):
    """How many slices of one layer fit."""

    level: str
    fits: int
    of: int


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why pods found no place."""

    kind: FailureKind
    level: str = ""  # that is missing, or asked for
    other: str = ""  # the level of the slices, where that is above
    fits: int = 0
    of: int = 0
    unit: Literal["pod", "slice"] = "pod"
    layers: tuple[LayerFits, ...] = ()


def request(  # noqa: PLR0913 - what a request is made of
    levels: Sequence[str],
    topology_request: TopologyRequest | None,
    pods: int,
    *,
    leader: bool,
    implied: bool,
    mixed: bool,
    short: bool = False,
) -> Request | Failure:
    """Return a request in numbers of levels.

    Args:
        levels: of the topology, from the top.
        topology_request: as the owner wrote it.
        pods: without the leader.
        leader: one more pod is to be beside one of them.
        implied: who asks for nothing may go anywhere.
        mixed: gate TASProfileMixed: fill up the fullest domains if nothing has to be together.
        short: pods are done, so the last slice may lack some: room for a whole one is asked for.
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
    """Return of how many pods a slice is that a domain of a level below the first layer holds.

    The levels between two layers have the inner one's size; 1: single pods.
    """
    return next((layer.size for layer in layers[1:] if layer.level >= level), 1)
