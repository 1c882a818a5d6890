"""Random topologies, requests and usage, small enough that everything happens often."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from tidegate.core.topology.fitting.tree import PODS, Node, Tree, build
from tidegate.core.topology.place import Ask
from tidegate.model.podset import NodeTerm, PodSet, Requirement, SliceLayer, TopologyRequest
from tidegate.model.topology import HOSTNAME, NodeSpec

LEVELS = ("block", "rack", HOSTNAME)
ELSEWHERE = NodeTerm(expressions=(Requirement(key="absent", operator="Exists"),), weight=1)
"""A preference that no node meets: it makes no difference."""


@dataclass(frozen=True)
class World:
    """Nodes with what is free on each, and what is asked for."""

    levels: tuple[str, ...]
    nodes: tuple[Node, ...]
    asks: tuple[Ask, ...]

    def tree(self) -> Tree:
        """Return the tree of the nodes."""
        return build(self.levels, self.nodes)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw a world of up to 3 levels and 18 nodes with one podset, or a leader and workers."""
    depth = draw(st.integers(1, 3))
    levels = LEVELS[3 - depth :]
    nodes = tuple(_node(draw, number) for number in range(draw(st.integers(1, 18))))
    if draw(st.booleans()):
        return World(levels, nodes, (_ask(draw, "main", levels),))
    workers = _ask(draw, "workers", levels, group="g")
    return World(levels, nodes, (workers, _leader(draw, workers)))


def _node(draw: st.DrawFn, number: int) -> Node:
    labels = {
        "block": draw(st.sampled_from("ab")),
        "rack": draw(st.sampled_from("xyz")),
        HOSTNAME: f"n{number:02}",
    }
    cpu, pods = draw(st.integers(0, 8)), draw(st.sampled_from((1, 3, 10)))
    ready = draw(st.integers(0, 9)) > 0
    spec = NodeSpec(labels=labels, allocatable={"cpu": cpu, PODS: pods}, ready=ready)
    return Node(name=f"n{number:02}", spec=spec)


def _ask(draw: st.DrawFn, name: str, levels: tuple[str, ...], group: str = "") -> Ask:
    wish = "required", "preferred", *(() if group else ("unconstrained", "nothing"))
    mode, level = draw(st.sampled_from(wish)), draw(st.sampled_from(levels))
    sizes, layers = 1, tuple[SliceLayer, ...]()
    if draw(st.booleans()):
        begin = levels.index(level) if mode in ("required", "preferred") else 0
        below = draw(st.lists(st.sampled_from(levels[begin:]), unique=True, min_size=1))
        size = 1
        for text in sorted(below, key=levels.index, reverse=True):
            size *= draw(st.integers(1, 3))
            layers = (SliceLayer(level=text, size=size), *layers)
        sizes = size
    asked = TopologyRequest(
        required=level if mode == "required" else "",
        preferred=level if mode == "preferred" else "",
        unconstrained=mode == "unconstrained",
        layers=layers,
    )
    done = draw(st.integers(0, sizes - 1)) if draw(st.booleans()) else 0
    return Ask(
        podset=PodSet(name=name, topology=asked),
        count=sizes * draw(st.integers(1, 6)) - done,
        short=done > 0,
        each={"cpu": draw(st.integers(0, 3))},
        group=group,
        implied=mode == "nothing",
    )


def _leader(draw: st.DrawFn, workers: Ask) -> Ask:
    return Ask(
        podset=PodSet(name="leader", topology=workers.podset.topology),
        count=1,
        each={"cpu": draw(st.integers(0, 4))},
        group="g",
    )
