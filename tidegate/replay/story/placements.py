"""Where pods were placed, and why they were not: a tree with a row for each level."""

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
    "Gone": "it is gone, or was never ready",
    "NotReady": "it is not ready, and the pods there have ended",
    "Tainted": "it has a taint, and the pods there have ended",
}


def placing_text(event: Placing) -> str:
    """Say what became of a place in one sentence."""
    match event:
        case TopologyAssigned():
            instead = f" in place of node {event.replaced}" if event.replaced else ""
            given = ", ".join(map(_place, event.assignment))
            return f"Its pods were given a place{instead}: {given}."
        case NodeFailed():
            return f"Its pods on node {event.node} need another place: {_WRONG[event.reason]}."
        case SecondPassFailed():
            said = f": {event.message}" if event.message else ""
            return f"No place was found for its pods yet{said}"
        case _:
            assert_never(event)


def _place(given: PodSetAssignment) -> str:
    domains = () if given.topology is None else unpack(given.topology)
    word = "domain" if len(domains) == 1 else "domains"
    return f"{given.count} of {given.name} in {len(domains)} {word}"


def placement_lines(found: PlacementTried) -> Iterator[str]:
    """Yield a failed placement for people, line by line."""
    named = f", topology {found.topology}" if found.topology else ""
    head = f"podset {found.podset}, flavor {found.flavor}{named}"
    if found.error:
        yield f"{head}: {found.error}"
        return
    yield f"{head}: {found.fits} of {found.of} {found.unit}s find a place"
    indent = ""
    for level in found.levels:
        yield f"{indent}└─ {_level(level)}"
        indent += "   "
    if found.excluded:
        left_out = sum(found.excluded.values())
        why = ", ".join(f"{name} {count}" for name, count in found.excluded.items())
        yield f"{indent}└─ {left_out} of {_nodes(found)} could take none: {why}"


def _nodes(found: PlacementTried) -> str:
    return f"{found.nodes} node" if found.nodes == 1 else f"{found.nodes} nodes"


def _level(found: LevelTried) -> str:
    """Say of a level how many of its domains could take all pods, and how many could take some."""
    word = "domain" if found.domains == 1 else "domains"
    parts = [f"{domains} could take {pods}" for pods, domains in found.pods]
    rest = found.domains - sum(domains for _, domains in found.pods)
    parts += [f"{rest} none"] if rest and parts else []
    said = ", ".join(parts) or "none could take a pod"
    return f"{found.level}: {found.domains} {word}, {found.fitting} for all of them; {said}"
