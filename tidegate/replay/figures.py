"""Turns a tally into whole numbers for tables, JSON and plots; nearest-rank percentiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from tidegate.model.ids import FlavorResource
from tidegate.replay.aggregates import Aggregator, QueueTally, TimeIntegral

ALL = "(all)"
_SECOND_US = 1_000_000
_MEDIAN, _P95 = 50, 95


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of one resource's quota, flavors together, in base units times seconds."""

    used: int
    quota: int  # nominal quota over the time
    lost: int  # the part of ``used`` by runs that were preempted


class QueueFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One ClusterQueue, or all of them together."""

    queue: str
    admissions: int
    waiting: int  # at the end
    wait_median_us: int
    wait_p95_us: int
    wait_max_us: int
    preemptions: int
    finished: int
    usage: dict[str, Usage]  # by resource


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a comparison."""

    from_us: int
    to_us: int
    queues: tuple[QueueFigures, ...]  # by name
    total: QueueFigures


def figures(tally: Aggregator, to_us: int) -> Figures:
    """Close a tally at a time and return its figures."""
    tally.end_at(to_us)
    still = dict[str, list[int]]()
    for queue, since_us in tally.waiting.values():
        still.setdefault(queue, []).append(tally.at_us - since_us)
    named = {
        name: queue_tally
        for name, queue_tally in sorted(tally.queues.items())
        if name or still.get(name)
    }
    return Figures(
        from_us=tally.from_us,
        to_us=tally.at_us,
        queues=tuple(
            _queue_figures(name, [queue_tally], still.get(name, []))
            for name, queue_tally in named.items()
        ),
        total=_queue_figures(
            ALL,
            list(named.values()),
            [wait for waits in still.values() for wait in waits],
            tally.cohorts.values(),
        ),
    )


def percentile(values: Iterable[int], percent: int) -> int:
    """Return the smallest value that at least ``percent`` of the values do not exceed; 0: none."""
    ordered = sorted(values)
    if not ordered:
        return 0
    return ordered[max(0, -(-percent * len(ordered) // 100) - 1)]


def _queue_figures(
    name: str,
    tallies: list[QueueTally],
    still: list[int],
    cohorts: Iterable[Mapping[FlavorResource, TimeIntegral]] = (),
) -> QueueFigures:
    done = [wait for tally in tallies for wait in tally.waits]
    waits = [*done, *still]
    return QueueFigures(
        queue=name,
        admissions=len(done),
        waiting=len(still),
        wait_median_us=percentile(waits, _MEDIAN),
        wait_p95_us=percentile(waits, _P95),
        wait_max_us=max(waits, default=0),
        preemptions=sum(tally.preemptions for tally in tallies),
        finished=sum(tally.finished for tally in tallies),
        usage=_usage_by_resource(tallies, cohorts),
    )


def _usage_by_resource(
    tallies: list[QueueTally], cohorts: Iterable[Mapping[FlavorResource, TimeIntegral]]
) -> dict[str, Usage]:
    used, quota, lost = dict[str, int](), dict[str, int](), dict[str, int]()
    for tally in tallies:
        _add_integrals(used, tally.used)
        _add_integrals(quota, tally.quota)
        for fr, units_us in tally.lost.items():
            lost[fr.resource] = lost.get(fr.resource, 0) + units_us
    for levels in cohorts:
        _add_integrals(quota, levels)
    return {
        resource: Usage(
            used=used.get(resource, 0) // _SECOND_US,
            quota=quota.get(resource, 0) // _SECOND_US,
            lost=lost.get(resource, 0) // _SECOND_US,
        )
        for resource in sorted({*used, *quota})
    }


def _add_integrals(total: dict[str, int], levels: Mapping[FlavorResource, TimeIntegral]) -> None:
    for fr, level in levels.items():
        total[fr.resource] = total.get(fr.resource, 0) + level.integral
