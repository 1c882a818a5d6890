"""Statistics of waits: median, 95th percentile and maximum of each queue and priority class.

Percentiles are nearest ranks: waits that a workload had, never a value between two.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, String, cast, column, func, literal, select, text

from store.reporting.tables import WAITS_BY_LENGTH, wait
from store.tables import Number
from store.views.columns import ViewColumn, copied, shown
from store.views.expressions import seconds

_GROUP = "cluster cluster_queue local_queue namespace priority_class"
_SUMMARIES = (
    ("admissions", "1", "waits that ended in an admission"),
    ("median_s", "s", "half of them were no longer"),
    ("p95_s", "s", "95 of 100 were no longer"),
    ("max_s", "s", "the longest"),
    ("mean_s", "s", "their average"),
)
_Columns: TypeAlias = tuple[ViewColumn, ...]


def _columns(row: Any, *values: ColumnElement[Any]) -> _Columns:  # noqa: ANN401 - a table's columns
    summaries = zip(_SUMMARIES, values, strict=True)
    return *copied(row, _GROUP), *(ViewColumn(*about, value) for about, value in summaries)


def _by_index() -> _Columns:
    """Return SQLite's columns: nothing is sorted, as each group's waits are a list in order.

    The index has them so, and INDEXED BY makes it an error to read them in another order. A window
    function takes ten times as long.
    """
    waited_us = column("to_us", Number) - column("from_us", Number)
    names = [column(name, String) for name in _GROUP.split()]
    listed = (
        select(
            *names,
            func.count().label("admissions"),
            func.json_group_array(waited_us).label("waits"),
            func.max(waited_us).label("max_us"),
            func.avg(waited_us).label("mean_us"),
        )
        .select_from(text(f"{wait.name} INDEXED BY {WAITS_BY_LENGTH}"))
        .where(column("outcome", String) == "admitted")
        .group_by(*names)
        .cte("listed")
        .c
    )

    def percentile(percent: int) -> ColumnElement[Any]:
        place = (listed.admissions * percent + 99) // 100 - 1
        path = literal("$[").concat(cast(place, String)).concat("]")
        return seconds(func.json_extract(listed.waits, path))

    summed = listed.admissions, percentile(50), percentile(95)
    return _columns(listed, *summed, seconds(listed.max_us), seconds(listed.mean_us))


def _by_sorting() -> _Columns:
    """Return PostgreSQL's columns: its ``percentile_disc`` is the nearest rank."""
    waited_us = wait.c.to_us - wait.c.from_us  # to_us is set: an admitted workload waits no more

    def percentile(percent: int) -> ColumnElement[Any]:
        return seconds(func.percentile_disc(percent / 100).within_group(waited_us))

    summed = func.count(), percentile(50), percentile(95)
    return _columns(wait.c, *summed, seconds(func.max(waited_us)), seconds(func.avg(waited_us)))


COLUMNS = _by_index()
QUERY, _admitted = shown(COLUMNS), wait.c.outcome == "admitted"
_group = (wait.c[name] for name in _GROUP.split())
POSTGRESQL = shown(_by_sorting()).where(_admitted).group_by(*_group)
