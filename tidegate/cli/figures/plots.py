"""Plots as SVG: lines over time, drawn here so that a page needs nothing from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from tidegate.cli.times import utc

WIDTH, HEIGHT = 720, 200
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 14, 26
BUCKETS = 600
"""A line has no more corners than a screen has columns: the mean of each stretch is drawn."""
TICKS = 4
_BILLION, _MILLION, _THOUSAND = 1e9, 1e6, 1e3

Points = Sequence[tuple[float, float]]


class Line(NamedTuple):
    """One line of a plot."""

    name: str
    points: Points  # by x
    colour: str
    dashed: bool = False


def step_points(points: Iterable[tuple[int, int]], begin: int, end: int, scale: float) -> Points:
    """Return a step function as the corners of a line; a long one as means of stretches."""
    results = [(max(begin, at), value * scale) for at, value in points if at <= end]
    if len(results) > BUCKETS:
        return _bucket_means(results, begin, end)
    corners, value = [(float(begin), 0.0)], 0.0
    for at, after in results:
        corners += [(float(at), value), (float(at), after)]
        value = after
    return [*corners, (float(end), value)]


def distribution_points(values: Iterable[int], scale: float) -> Points:
    """Return which share of values is no larger than each: a line from 0 to 1."""
    ordered = sorted(values)
    corners = [(0.0, 0.0)]
    for place, value in enumerate(ordered):
        corners += [
            (value * scale, place / len(ordered)),
            (value * scale, (place + 1) / len(ordered)),
        ]
    return _thin_points(corners)


def svg_plot(title: str, lines: Sequence[Line], *, unit: str, times: bool) -> str:
    """Return a plot as an SVG element; ``times``: x is UTC microseconds, else seconds."""
    low = min((x for line in lines for x, _ in line.points), default=0.0)
    high = max((x for line in lines for x, _ in line.points), default=1.0)
    top = max((y for line in lines for _, y in line.points), default=0.0) or 1.0

    def place(x: float, y: float) -> str:
        across = LEFT + (x - low) / ((high - low) or 1.0) * (WIDTH - LEFT - RIGHT)
        return f"{across:.1f},{HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM):.1f}"

    drawn = [
        f'<polyline fill="none" stroke="{line.colour}" stroke-width="1.6"'
        f'{_DASHES if line.dashed else ""} points="'
        f'{" ".join(place(x, y) for x, y in line.points)}"/>'
        for line in lines
    ]
    return (
        f"<figure><figcaption>{escape(title)}{_legend(lines)}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"{_axes(top, unit)}{_axis_end_labels(low, high, times=times)}{''.join(drawn)}"
        "</svg></figure>"
    )


def _bucket_means(results: list[tuple[int, float]], begin: int, end: int) -> Points:
    width = max(1.0, (end - begin) / BUCKETS)
    sums, value, at = [0.0] * BUCKETS, 0.0, float(begin)
    for until, after in [*((float(x), y) for x, y in results), (float(end), 0.0)]:
        while at < until:
            bucket = min(BUCKETS - 1, int((at - begin) / width))
            edge = min(until, begin + (bucket + 1) * width)
            edge = edge if edge > at else until
            sums[bucket] += value * (edge - at)
            at = edge
        value = after
    return [(begin + (place + 0.5) * width, total / width) for place, total in enumerate(sums)]


def _thin_points(corners: list[tuple[float, float]]) -> Points:
    step = -(-len(corners) // (2 * BUCKETS))
    return corners if step <= 1 else [*corners[::step], corners[-1]]


def _legend(lines: Sequence[Line]) -> str:
    return "".join(
        f' <span style="color:{line.colour}">&#9644;&nbsp;{escape(line.name)}</span>'
        for line in lines
    )


def _axes(top: float, unit: str) -> str:
    results = list[str]()
    for tick in range(TICKS + 1):
        y = HEIGHT - BOTTOM - tick / TICKS * (HEIGHT - TOP - BOTTOM)
        results.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{_short_number(top * tick / TICKS)}{escape(unit)}</text>"
        )
    return "".join(results)


def _axis_end_labels(low: float, high: float, *, times: bool) -> str:
    def label(x: float) -> str:
        return utc(round(x)) if times else f"{_short_number(x)} s"

    y = HEIGHT - 8
    return (
        f'<text x="{LEFT}" y="{y}">{label(low)}</text>'
        f'<text x="{WIDTH - RIGHT}" y="{y}" text-anchor="end">{label(high)}</text>'
    )


def _short_number(value: float) -> str:
    for size, letter in ((_BILLION, "G"), (_MILLION, "M"), (_THOUSAND, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


_DASHES = ' stroke-dasharray="5 4"'
