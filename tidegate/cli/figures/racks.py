"""Racks and nodes as SVG: a box a domain, a cell a node, filled by what its workloads use."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from tidegate.cli.ledger.racks import Domain, TopologyView, amounts_text
from tidegate.model.quantity import format_quantity

CELL, GAP, LABEL, MARGIN, WIDTH = 30, 6, 16, 12, 1_000
_OTHERS, _BROKEN, _EMPTY = "#9a9a9a", "#e05252", "#f2f2f2"
_STYLE = "font-family:sans-serif;font-size:11px"


class _Box(NamedTuple):
    """A part of the drawing, from its own upper left corner."""

    width: int
    height: int
    parts: list[str]


def topology_svg(drawings: Sequence[TopologyView]) -> str:
    """Return all topologies below each other, as one SVG document."""
    boxes = [
        _with_title(_heading(drawing), _pack_domains(drawing, drawing.domains))
        for drawing in drawings
    ]
    width = max((box.width for box in boxes), default=0) + 2 * MARGIN
    y, parts = MARGIN, list[str]()
    for box in boxes:
        parts += _translate(box, MARGIN, y)
        y += box.height + MARGIN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" style="{_STYLE}">'
    return "\n".join([head, *parts, "</svg>"])


def workload_colour(workload: str) -> str:
    """Return the colour of a workload, the same in every drawing."""
    hue = int.from_bytes(hashlib.sha256(workload.encode()).digest()[:2]) % 360
    return f"hsl({hue},60%,55%)"


def _heading(drawing: TopologyView) -> str:
    levels = " > ".join(drawing.levels)
    return f"{drawing.topology}, flavor {drawing.flavor}: {levels}; filled by {drawing.resource}"


def _pack_domains(drawing: TopologyView, domains: Sequence[Domain]) -> _Box:
    """Lay domains side by side, as many in a row as are narrow enough."""
    x = y = height = width = 0
    parts = list[str]()
    for domain in domains:
        box = _domain_box(drawing, domain)
        if x and x + box.width > WIDTH:
            x, y, height = 0, y + height + GAP, 0
        parts += _translate(box, x, y)
        x, height = x + box.width + GAP, max(height, box.height)
        width = max(width, x - GAP)
    return _Box(width, y + height, parts)


def _domain_box(drawing: TopologyView, domain: Domain) -> _Box:
    if not domain.children:
        return _Box(CELL, CELL, list(_draw_node(drawing, domain)))
    inner = _with_title(domain.name, _pack_domains(drawing, domain.children))
    width, height = inner.width + 2 * GAP, inner.height + 2 * GAP
    frame = f'<rect width="{width}" height="{height}" rx="3" fill="none" stroke="#888"/>'
    return _Box(width, height, [frame, *_translate(inner, GAP, GAP)])


def _draw_node(drawing: TopologyView, node: Domain) -> Iterator[str]:
    """Draw a node, its workloads from the bottom; what is said of it is shown where one points."""
    stroke = _BROKEN if node.states else "#888"
    yield f"<g><title>{escape(_node_tooltip(drawing, node))}</title>"
    yield f'<rect width="{CELL}" height="{CELL}" fill="{_EMPTY}" stroke="{stroke}"/>'
    total, pods = node.allocatable.get(drawing.resource, 0), sum(node.workloads.values())
    placed, y = node.placed.get(drawing.resource, 0), float(CELL)
    fills = [(workload_colour(key), placed * n / pods) for key, n in sorted(node.workloads.items())]
    for fill, units in [*fills, (_OTHERS, node.others.get(drawing.resource, 0))]:
        height = CELL * min(1.0, units / total) if total else 0.0
        y -= height
        yield f'<rect y="{y:.1f}" width="{CELL}" height="{height:.1f}" fill="{fill}"/>'
    yield "</g>"


def _node_tooltip(drawing: TopologyView, node: Domain) -> str:
    name, total = drawing.resource, node.allocatable.get(drawing.resource, 0)
    used, allocatable = format_quantity(name, node.used(name)), format_quantity(name, total)
    lines = [f"{node.name}: {used} of {allocatable} {name}"]
    lines += [f"{key}: {pods} pods" for key, pods in sorted(node.workloads.items())]
    lines += [f"other pods: {amounts_text(node.others)}"] if node.others else []
    return "\n".join([*lines, *node.states])


def _with_title(title: str, box: _Box) -> _Box:
    text = f'<text y="{LABEL - 5}">{escape(title)}</text>'
    width = max(box.width, 6 * len(title))
    return _Box(width, box.height + LABEL, [text, *_translate(box, 0, LABEL)])


def _translate(box: _Box, x: int, y: int) -> list[str]:
    return [f'<g transform="translate({x},{y})">', *box.parts, "</g>"]
