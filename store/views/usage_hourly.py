"""Usage by hour: resource-seconds of every queue, namespace, author and priority."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import CTE, ColumnElement, Double, and_, cast, func, select

from store.clock import HOUR_US, utc_text
from store.reporting.tables import holding, quota
from store.views.columns import (
    AUTHOR,
    CLUSTER,
    CLUSTER_QUEUE,
    FLAVOR,
    LOCAL_QUEUE,
    NAMESPACE,
    PRIORITY,
    PRIORITY_CLASS,
    RESOURCE,
    UNIT_SECONDS,
    ViewColumn,
)
from store.views.expressions import hour_of, larger, ledger_end, per, seconds, smaller, units

NAME = "usage_hourly"
COLUMNS = (
    ViewColumn("hour", "UTC", "beginning of the hour"),
    CLUSTER,
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    NAMESPACE,
    AUTHOR,
    PRIORITY_CLASS,
    PRIORITY,
    FLAVOR,
    RESOURCE,
    ViewColumn("resource_seconds", UNIT_SECONDS, "amount times time held within the hour"),
    ViewColumn("quota_seconds", UNIT_SECONDS, "the ClusterQueue's nominal quota times its time"),
    ViewColumn("share_of_quota", "1", "resource_seconds / quota_seconds; above 1: borrowed"),
)

_DIMENSIONS = (
    "partition",
    "cluster",
    "cluster_queue",
    "local_queue",
    "namespace",
    "author",
    "priority_class",
    "priority",
    "flavor",
    "resource",
)


def _by_hour(name: str, table: Any, columns: Sequence[ColumnElement[Any]], end: CTE) -> CTE:  # noqa: ANN401
    """Return the rows of an interval table once for each hour that they reach into."""
    to_us = func.coalesce(table.c.to_us, end.c.at_us).label("to_us")
    first = (
        select(*columns, table.c.from_us, to_us, hour_of(table.c.from_us).label("hour_us"))
        .join_from(table, end, table.c.partition == end.c.partition)
        .where(to_us > table.c.from_us)
        .cte(name, recursive=True)
    )
    same = [column for column in first.c if column.name != "hour_us"]
    following = select(*same, (first.c.hour_us + HOUR_US).label("hour_us")).where(
        first.c.hour_us + HOUR_US < first.c.to_us
    )
    return first.union_all(following)


def _within(hours: CTE) -> ColumnElement[Any]:
    ends = smaller(hours.c.to_us, hours.c.hour_us + HOUR_US)
    return ends - larger(hours.c.from_us, hours.c.hour_us)


def _used(end: CTE) -> CTE:
    columns = [holding.c[name] for name in (*_DIMENSIONS, "amount")]
    hours = _by_hour("holding_hour", holding, columns, end)
    dimensions = [hours.c[name] for name in _DIMENSIONS]
    used = func.sum(units(hours.c.resource, hours.c.amount) * seconds(_within(hours)))
    return (
        select(*dimensions, hours.c.hour_us, used.label("resource_seconds"))
        .group_by(*dimensions, hours.c.hour_us)
        .cte("used")
    )


def _given(end: CTE) -> CTE:
    owned = select(quota).where(quota.c.kind == "ClusterQueue").subquery("owned")
    names = ("partition", "owner", "flavor", "resource")
    columns = [owned.c[name] for name in (*names, "nominal")]
    hours = _by_hour("quota_hour", owned, columns, end)
    dimensions = [hours.c[name] for name in names]
    given = func.sum(units(hours.c.resource, hours.c.nominal) * seconds(_within(hours)))
    return (
        select(*dimensions, hours.c.hour_us, given.label("quota_seconds"))
        .group_by(*dimensions, hours.c.hour_us)
        .cte("given")
    )


_end = ledger_end()
_u, _g = _used(_end), _given(_end)
_given_seconds = func.coalesce(_g.c.quota_seconds, cast(0, Double))

QUERY = select(
    utc_text(_u.c.hour_us).label("hour"),
    *(_u.c[name] for name in _DIMENSIONS[1:]),
    _u.c.resource_seconds,
    _given_seconds.label("quota_seconds"),
    per(_u.c.resource_seconds, func.nullif(_given_seconds, 0)).label("share_of_quota"),
).outerjoin_from(
    _u,
    _g,
    and_(
        _u.c.partition == _g.c.partition,
        _u.c.cluster_queue == _g.c.owner,
        _u.c.flavor == _g.c.flavor,
        _u.c.resource == _g.c.resource,
        _u.c.hour_us == _g.c.hour_us,
    ),
)
