"""Waits in numbers: median, 95th percentile and longest of each queue and priority class.

Percentiles are nearest ranks: waits that somebody had, never a value between two.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Double, case, cast, func, literal, select

from store.reporting.tables import wait
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
_w = wait.c
_waited_us = _w.to_us - _w.from_us  # to_us is set: who was admitted waits no more
_ranked = (
    select(
        *(_w[name] for name in _GROUP),
        _waited_us.label("waited_us"),
        # One order for both percentiles: a second window would sort every wait again.
        func.cume_dist()
        .over(partition_by=[_w[name] for name in _GROUP], order_by=_waited_us)
        .label("reached"),
    )
    .where(_w.outcome == "admitted")
    .cte("ranked")
)


def _percentile(percent: int) -> ColumnElement[Any]:
    """Return the shortest wait that so many of a hundred were no longer than.

    A rank divided by how many there are is the double next to the fraction, as the literal is.
    """
    reached = _ranked.c.reached >= cast(literal(percent / 100), Double)
    return seconds(func.min(case((reached, _ranked.c.waited_us))))


QUERY = select(
    *(_ranked.c[name] for name in _GROUP),
    func.count().label("admissions"),
    _percentile(50).label("median_s"),
    _percentile(95).label("p95_s"),
    seconds(func.max(_ranked.c.waited_us)).label("max_s"),
    seconds(func.avg(_ranked.c.waited_us)).label("mean_s"),
).group_by(*(_ranked.c[name] for name in _GROUP))
