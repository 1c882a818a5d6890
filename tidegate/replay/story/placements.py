"""Describes placements: the nodes of pods, or why they fit on none, with a line for each level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, assert_never

from tidegate.contracts.decision_kinds.placements import (
    LevelTried,
    NodeFailed,
    NodeFailure,
    PlacementTried,
    SecondPassFailed,
    TopologyAssigned,
)
from tidegate.model.podset import PodSetAssignment
from tidegate.model.topology import unpack

Placing: TypeAlias = TopologyAssigned | NodeFailed | SecondPassFailed
_WRONG: dict[NodeFailure, str] = {
    "Gone": "the node is gone, or was never ready",
    "NotReady": "the node is not ready, and its pods have ended",
    "Tainted": "the node has a taint, and its pods have ended",
}


def placement_text(event: Placing) -> str:
    """Return one sentence about an event of a topology placement."""
    match event:
        case TopologyAssigned():
            instead = f" instead of node {event.replaced}" if event.replaced else ""
            domains = ", ".join(map(_assignment_text, event.assignment))
            return f"Its pods were placed{instead}: {domains}."
        case NodeFailed():
            return f"Its pods on node {event.node} need another node: {_WRONG[event.reason]}."
        case SecondPassFailed():
            message = f": {event.message}" if event.message else ""
            return f"No place was found for its pods yet{message}"
        case _:
            assert_never(event)


def _assignment_text(assignment: PodSetAssignment) -> str:
    domains = () if assignment.topology is None else unpack(assignment.topology)
    word = "domain" if len(domains) == 1 else "domains"
    return f"{assignment.count} of {assignment.name} in {len(domains)} {word}"


def placement_lines(placement: PlacementTried) -> Iterator[str]:
    """Yield a failed placement as text, line by line."""
    named = f", topology {placement.topology}" if placement.topology else ""
    head = f"podset {placement.podset}, flavor {placement.flavor}{named}"
    if placement.error:
        yield f"{head}: {placement.error}"
        return
    yield f"{head}: {placement.fits} of {placement.of} {placement.unit}s find a place"
    indent = ""
    for level in placement.levels:
        yield f"{indent}└─ {_level_text(level)}"
        indent += "   "
    if placement.excluded:
        left_out = sum(placement.excluded.values())
        why = ", ".join(f"{name} {count}" for name, count in placement.excluded.items())
        yield f"{indent}└─ {left_out} of {_nodes_text(placement)} could take none: {why}"


def _nodes_text(placement: PlacementTried) -> str:
    return f"{placement.nodes} node" if placement.nodes == 1 else f"{placement.nodes} nodes"


def _level_text(level: LevelTried) -> str:
    """Return how many domains of a level could take all pods, and how many could take some."""
    word = "domain" if level.domains == 1 else "domains"
    parts = [f"{domains} could take {pods}" for pods, domains in level.pods]
    rest = level.domains - sum(domains for _, domains in level.pods)
    parts += [f"{rest} none"] if rest and parts else []
    message = ", ".join(parts) or "none could take a pod"
    return f"{level.level}: {level.domains} {word}, {level.fitting} for all of them; {message}"
