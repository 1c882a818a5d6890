"""Waits in numbers: median, 95th percentile and longest of each queue and priority class.

Percentiles are nearest ranks: waits that somebody had, never a value between two.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Double, Integer, case, cast, column, func, select, table

from store.views.columns import CLUSTER, CLUSTER_QUEUE, LOCAL_QUEUE, NAMESPACE, PRIORITY_CLASS
from store.views.columns import ViewColumn as _Column
from store.views.history import waits

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
_waits = table(waits.NAME, *(column(view_column.name) for view_column in waits.COLUMNS))
_group = [_waits.c[name] for name in _GROUP]
_waited = cast(_waits.c.waited_s, Double)
_ranked = (
    select(
        *_group,
        _waited.label("waited_s"),
        func.row_number().over(partition_by=_group, order_by=_waited).label("rank"),
        func.count().over(partition_by=_group).label("of"),
    )
    .where(_waits.c.outcome == "admitted")
    .cte("ranked")
)


def _percentile(percent: int) -> ColumnElement[Any]:
    """Return the wait at the smallest rank that has so many of a hundred at or below it."""
    rank = cast(_ranked.c.rank, Integer) * 100
    reached = rank >= cast(_ranked.c.of, Integer) * percent
    return func.min(case((reached, _ranked.c.waited_s)))


QUERY = select(
    *(_ranked.c[name] for name in _GROUP),
    func.count().label("admissions"),
    _percentile(50).label("median_s"),
    _percentile(95).label("p95_s"),
    func.max(_ranked.c.waited_s).label("max_s"),
    func.avg(_ranked.c.waited_s).label("mean_s"),
).group_by(*(_ranked.c[name] for name in _GROUP))
