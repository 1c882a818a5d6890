"""The compared sides of a simulation, and the rows of the table about them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from tidegate.cli.output import Column
from tidegate.cli.times import duration_text, utc
from tidegate.replay.aggregates import Aggregator
from tidegate.replay.figures import Figures, QueueFigures, Usage
from tidegate.replay.simulator.whatif import SimulationResult

SECOND_US = 1_000_000
_HOUR_S = 3_600
_MILLI = 1_000


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Some runs over the same jobs, and what they rest on."""

    title: str
    sides: dict[str, SimulationResult]  # by name, e.g. recorded, unchanged, changed
    changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # sentences: how the sides were made, and what is assumed

    @property
    def resource(self) -> str:
        """Return the resource that tables and plots show: cpu if there is quota of it."""
        resources = dict.fromkeys(
            name for side in self.sides.values() for name in side.figures.total.usage
        )
        return "cpu" if "cpu" in resources or not resources else next(iter(resources))


def pending_notes(sides: dict[str, SimulationResult]) -> tuple[str, ...]:
    """Return a sentence for each side with pending workloads at the end, and why they wait."""
    return tuple(
        _pending_note(name, side.tally) for name, side in sides.items() if side.tally.waiting
    )


def _pending_note(name: str, tally: Aggregator) -> str:
    pendings = {
        key: tally.pending_reasons[key] for key in tally.waiting if key in tally.pending_reasons
    }
    reasons = Counter(pending.reason for pending in pendings.values())
    counts = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items()))
    text = f"{name}: {len(tally.waiting)} waiting at the end" + (f" ({counts})" if counts else "")
    example = next(iter(sorted(pendings)), None)
    return f"{text}." if example is None else f"{text}; {example}: {pendings[example].message}"


def comparison_columns(resource: str) -> tuple[Column, ...]:
    """Return the columns of the table form."""
    return (
        Column("QUEUE", "queue"),
        Column("SIDE", "side"),
        Column("STARTED", "admissions", right=True),
        Column("WAITING", "waiting", right=True),
        Column("MEDIAN WAIT", "waitMedianSeconds", right=True, show=duration_text),
        Column("P95 WAIT", "waitP95Seconds", right=True, show=duration_text),
        Column("LONGEST", "waitMaxSeconds", right=True, show=duration_text, wide=True),
        Column("PREEMPTED", "preemptions", right=True),
        Column("FINISHED", "finished", right=True, wide=True),
        Column(f"{resource.upper()} USED", "utilisation", right=True, show=_percent),
        Column(f"{resource.upper()}-HOURS LOST", "lostHours", right=True, show=_hours),
    )


def comparison_rows(compared: Comparison) -> list[dict[str, Any]]:
    """Return a row for each queue and side, at the end those of all queues together."""
    names = dict.fromkeys(
        queue.queue for side in compared.sides.values() for queue in side.figures.queues
    )
    results = list[dict[str, Any]]()
    for name in sorted(names):
        for side, run in compared.sides.items():
            mine = [queue for queue in run.figures.queues if queue.queue == name]
            results += [
                _table_row(queue_figures, side, compared.resource) for queue_figures in mine
            ]
    for side, run in compared.sides.items():
        results.append(_table_row(run.figures.total, side, compared.resource))
    return results


def comparison_record(compared: Comparison) -> dict[str, Any]:
    """Return a comparison for programs: amounts in cores, bytes, devices, times seconds."""
    return {
        "title": compared.title,
        "changes": compared.changes,
        "notes": compared.notes,
        "sides": {name: _side_record(side.figures) for name, side in compared.sides.items()},
    }


def display_units(resource: str, amount: int) -> float:
    """Return an amount of base units as people count it: cores, bytes, devices."""
    return amount / _MILLI if resource == "cpu" else float(amount)


def _side_record(figures: Figures) -> dict[str, Any]:
    return {
        "from": utc(figures.from_us),
        "to": utc(figures.to_us),
        "queues": [_queue_record(queue) for queue in figures.queues],
        "total": _queue_record(figures.total),
    }


def _queue_record(queue_figures: QueueFigures) -> dict[str, Any]:
    return {
        "queue": queue_figures.queue,
        "admissions": queue_figures.admissions,
        "waiting": queue_figures.waiting,
        "waitMedianSeconds": queue_figures.wait_median_us / SECOND_US,
        "waitP95Seconds": queue_figures.wait_p95_us / SECOND_US,
        "waitMaxSeconds": queue_figures.wait_max_us / SECOND_US,
        "preemptions": queue_figures.preemptions,
        "finished": queue_figures.finished,
        "resources": {
            name: _usage_record(name, usage) for name, usage in queue_figures.usage.items()
        },
    }


def _usage_record(resource: str, usage: Usage) -> dict[str, Any]:
    return {
        "utilisation": _utilisation(usage),
        "usedUnitSeconds": display_units(resource, usage.used),
        "quotaUnitSeconds": display_units(resource, usage.quota),
        "lostUnitSeconds": display_units(resource, usage.lost),
    }


def _table_row(queue_figures: QueueFigures, side: str, resource: str) -> dict[str, Any]:
    usage = queue_figures.usage.get(resource, Usage(used=0, quota=0, lost=0))
    return {
        **_queue_record(queue_figures),
        "queue": queue_figures.queue or "(no queue)",
        "side": side,
        "utilisation": _utilisation(usage),
        "lostHours": display_units(resource, usage.lost) / _HOUR_S,
    }


def _utilisation(usage: Usage) -> float | None:
    return round(usage.used / usage.quota, 6) if usage.quota else None


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _hours(hours: float) -> str:
    return f"{hours:.2f}"
