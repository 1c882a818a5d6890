"""Pods are placed if and only if nodes have room for them, by a sum that shares no code with it."""

from __future__ import annotations

from collections import Counter

from hypothesis import event, given

from tests.core.topology.test_placements import OPTIONS, placed
from tests.core.topology.worlds import World, worlds
from tests.parts.drawn import drawn
from tidegate.core.topology.fitting.request import Failure
from tidegate.core.topology.fitting.tree import PODS, Node
from tidegate.core.topology.place import Ask, Options, Placed
from tidegate.model.podset import SliceLayer

Domains = Counter[tuple[str, ...]]
"""By the labels from the top: how many pods, or slices, each domain could take."""


def room(node: Node, ask: Ask) -> int:
    """Return how many pods a node could take."""
    if not node.spec.ready:
        return 0
    amounts, cpu = node.spec.allocatable, ask.each["cpu"]
    return min(amounts[PODS], amounts["cpu"] // cpu if cpu else amounts[PODS])


def gathered(domains: Domains, level: int) -> Domains:
    """Return the same for the domains of a level above."""
    total = Domains()
    for path, units in domains.items():
        total[path[: level + 1]] += units
    return total


def whole_slices(world: World, ask: Ask) -> tuple[Domains, int]:
    """Return how many slices each of the lowest domains could take, and the pods of one."""
    pods = Domains()
    for node in world.nodes:
        pods[tuple(node.spec.labels[level] for level in world.levels)] += room(node, ask)
    wish, size = ask.podset.topology, 1
    assert wish is not None
    for layer in reversed(wish.layers):  # the innermost first
        pods = cut(gathered(pods, world.levels.index(layer.level)), layer, size)
        size = layer.size
    return pods, size


def cut(units: Domains, layer: SliceLayer, size: int) -> Domains:
    """Return how many slices of a layer consist of slices of a size."""
    return Domains({path: each // (layer.size // size) for path, each in units.items()})


@drawn(150)
@given(world=worlds(), options=OPTIONS)
def test_one_podset_is_placed_if_and_only_if_there_is_room(world: World, options: Options) -> None:
    ask = world.asks[0]
    alone = World(world.levels, world.nodes, (ask,))
    wish = ask.podset.topology
    assert wish is not None
    slices, size = whole_slices(alone, ask)
    needed = -(-ask.count // size)  # the room of a whole one for one that lacks pods
    level = world.levels.index(wish.required) if wish.required else -1
    most = max(gathered(slices, level).values())
    event(f"{most >= needed}, {len(wish.layers)} layers")
    [outcome] = placed(alone, options)[1]
    assert isinstance(outcome, Placed if most >= needed else Failure), (most, needed)
