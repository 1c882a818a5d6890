"""Statistics of waits: median, 95th percentile and maximum of each queue and priority class.

Percentiles are nearest ranks: waits that a workload had, never a value between two.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, String, cast, column, func, literal, select, text

from store.reporting.tables import WAITS_BY_LENGTH, wait
from store.tables import Number
from store.views.columns import CLUSTER, CLUSTER_QUEUE, LOCAL_QUEUE, NAMESPACE, PRIORITY_CLASS
from store.views.columns import ViewColumn as _Column
from store.views.expressions import seconds

NAME = "wait_summary"
COLUMNS = (
    CLUSTER,
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    NAMESPACE,
    PRIORITY_CLASS,
    _Column("admissions", "1", "waits that ended in an admission"),
    _Column("median_s", "s", "half of them were no longer"),
    _Column("p95_s", "s", "95 of 100 were no longer"),
    _Column("max_s", "s", "the longest"),
    _Column("mean_s", "s", "their average"),
)

_GROUP = ("cluster", "cluster_queue", "local_queue", "namespace", "priority_class")
_MEDIAN, _P95 = 50, 95


def _by_index() -> Any:  # noqa: ANN401 - SQLAlchemy's Select of many types
    """Return SQLite's query, which sorts nothing: each group's waits are a list, in their order.

    The index has them so, and INDEXED BY makes it an error to read them in another order. A window
    function takes ten times as long.
    """
    waited_us = column("to_us", Number) - column("from_us", Number)
    names = [column(name, String) for name in _GROUP]
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

    return select(
        *(listed[name] for name in _GROUP),
        listed.admissions,
        percentile(_MEDIAN).label("median_s"),
        percentile(_P95).label("p95_s"),
        seconds(listed.max_us).label("max_s"),
        seconds(listed.mean_us).label("mean_s"),
    )


def _by_sorting() -> Any:  # noqa: ANN401 - SQLAlchemy's Select of many types
    """Return PostgreSQL's query: its ``percentile_disc`` is the nearest rank."""
    waited_us = wait.c.to_us - wait.c.from_us  # to_us is set: who was admitted waits no more

    def percentile(percent: int) -> ColumnElement[Any]:
        return seconds(func.percentile_disc(percent / 100).within_group(waited_us))

    return (
        select(
            *(wait.c[name] for name in _GROUP),
            func.count().label("admissions"),
            percentile(_MEDIAN).label("median_s"),
            percentile(_P95).label("p95_s"),
            seconds(func.max(waited_us)).label("max_s"),
            seconds(func.avg(waited_us)).label("mean_s"),
        )
        .where(wait.c.outcome == "admitted")
        .group_by(*(wait.c[name] for name in _GROUP))
    )


QUERY, POSTGRESQL = _by_index(), _by_sorting()
