"""A comparison as one HTML page that holds all it needs: table, notes and plots."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from tidegate.cli.figures.comparison import (
    SECOND_US,
    Comparison,
    comparison_columns,
    comparison_rows,
    display_units,
)
from tidegate.cli.figures.plots import Line, Points, distribution_points, step_points, svg_plot
from tidegate.model.ids import FlavorResource
from tidegate.replay.aggregates import TimeIntegral
from tidegate.replay.simulator.whatif import SimulationResult

COLOURS = {"recorded": "#888888", "unchanged": "#1f6fb2", "changed": "#d1571b"}
OTHER = "#1f6fb2"
QUEUES_MAX = 50
"""Of so many queues plots are drawn, those with the most admissions; the table has all."""
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem;
  color: #222 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left }
figure { margin: 1rem 0 } svg { width: 100%; height: auto } text { font-size: 11px; fill: #555 }
figcaption span { margin-left: .8rem; white-space: nowrap }
"""


def html_page(compared: Comparison) -> str:
    """Return the page."""
    changes = "".join(f"<li><code>{escape(change)}</code></li>" for change in compared.changes)
    notes = "".join(f"<li>{escape(note)}</li>" for note in compared.notes)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>'
        f"{escape(compared.title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(compared.title)}</h1>"
        + (f"<h2>What is changed</h2><ul>{changes}</ul>" if changes else "")
        + f"<h2>Figures</h2>{_html_table(compared)}<ul>{notes}</ul>"
        + "".join(_plots(compared, name) for name in _plotted_queues(compared))
        + "</body></html>\n"
    )


def _html_table(compared: Comparison) -> str:
    visible = comparison_columns(compared.resource)
    head = "".join(f"<th>{escape(column.heading.capitalize())}</th>" for column in visible)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td>{escape(_cell_text(row[column.field], column.show))}</td>" for column in visible
        )
        + "</tr>"
        for row in comparison_rows(compared)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell_text(value: object, show: object) -> str:
    return "-" if value is None or not callable(show) else str(show(value))


def _plotted_queues(compared: Comparison) -> list[str]:
    started = dict[str, int]()
    for side in compared.sides.values():
        for queue in side.figures.queues:
            started[queue.queue] = max(
                started.get(queue.queue, 0), queue.admissions + queue.waiting
            )
    most = sorted(started, key=lambda name: (-started[name], name))[:QUEUES_MAX]
    return sorted(name for name in most if name)


def _plots(compared: Comparison, queue: str) -> str:
    resource = compared.resource
    used, pending, waits = list[Line](), list[Line](), list[Line]()
    for name, side in compared.sides.items():
        tally = side.tally.queues.get(queue)
        if tally is None:
            continue
        colour = COLOURS.get(name, OTHER)
        used.append(Line(name, _sum_of_flavors(side, tally.used.items(), resource), colour))
        quota = _sum_of_flavors(side, tally.quota.items(), resource)
        used.append(Line(f"{name}: quota", quota, colour, dashed=True))
        pending.append(Line(name, _step_points(side, tally.pending, 1.0), colour))
        if tally.waits:
            waits.append(Line(name, distribution_points(tally.waits, 1 / SECOND_US), colour))
    unit = " cores" if resource == "cpu" else ""
    return (
        f"<h2>{escape(queue)}</h2>"
        + svg_plot(f"{resource} in use, and its nominal quota", used, unit=unit, times=True)
        + svg_plot("Workloads that wait", pending, unit="", times=True)
        + (svg_plot("Share of waits no longer than", waits, unit="", times=False) if waits else "")
    )


def _step_points(side: SimulationResult, level: TimeIntegral, scale: float) -> Points:
    return step_points(level.points, side.figures.from_us, side.figures.to_us, scale)


def _sum_of_flavors(
    side: SimulationResult, levels: Iterable[tuple[FlavorResource, TimeIntegral]], resource: str
) -> Points:
    """Add the flavors of one resource."""
    changes = dict[int, int]()
    for fr, level in levels:
        if fr.resource == resource:
            before = 0
            for at_us, value in level.points:
                changes[at_us] = changes.get(at_us, 0) + value - before
                before = value
    points, total = list[tuple[int, int]](), 0
    for at_us in sorted(changes):
        total += changes[at_us]
        points.append((at_us, total))
    return step_points(points, side.figures.from_us, side.figures.to_us, display_units(resource, 1))
