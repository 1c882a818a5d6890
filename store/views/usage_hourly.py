"""Usage by hour: resource-seconds of every queue, namespace, author and priority."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Double,
    and_,
    cast,
    exists,
    func,
    literal,
    select,
    union_all,
)

from store.clock import HOUR_US, utc_text
from store.expressions import hour_of, larger, ledger_end, per, seconds, smaller, units
from store.reporting.tables import holding, quota, usage
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

_KEY = tuple(column.name for column in usage.primary_key.columns)
_SHOWN = tuple(told.name for told in COLUMNS[1:10])
_HOUR = literal(HOUR_US, usage.c.hour_us.type)
_end = ledger_end()


def _held() -> CTE:
    """Return what is still held, as far as it counts in the ledger's newest hour."""
    row = holding.c
    hour_us = hour_of(_end.c.at_us)
    lasted = seconds(_end.c.at_us - larger(row.from_us, hour_us))
    key = [hour_us.label("hour_us") if name == "hour_us" else row[name] for name in _KEY]
    copied = [row[name] for name in _KEY if name != "hour_us"]
    return (
        select(*key, func.sum(cast(row.amount, Double) * lasted).label("unit_seconds"))
        .join_from(holding, _end, _end.c.partition == row.partition)
        .where(row.to_seq.is_(None), row.from_us < _end.c.at_us, row.amount > 0)
        .group_by(*copied, _end.c.at_us)
        .cte("held")
    )


def _quota_seconds(row: Any) -> ColumnElement[Any]:  # noqa: ANN401 - a table
    """Return the queue's nominal quota times its time within the row's hour."""
    given, next_us = quota.c, row.c.hour_us + _HOUR
    until = smaller(func.coalesce(given.to_us, _end.c.at_us), next_us)
    lasted = seconds(until - larger(given.from_us, row.c.hour_us))
    return (
        select(func.sum(cast(given.nominal, Double) * lasted))
        .join_from(quota, _end, _end.c.partition == given.partition)
        .where(
            given.partition == row.c.partition,
            given.kind == "ClusterQueue",
            given.owner == row.c.cluster_queue,
            given.flavor == row.c.flavor,
            given.resource == row.c.resource,
            given.from_us < next_us,
            func.coalesce(given.to_us, _end.c.at_us) > row.c.hour_us,
        )
        .scalar_subquery()
    )


_kept, _open = usage.alias("kept"), _held()
_same = and_(*(_kept.c[name] == _open.c[name] for name in _KEY))
_sum = _kept.c.unit_seconds + func.coalesce(_open.c.unit_seconds, cast(0, Double))
_grown = select(*(_kept.c[name] for name in _KEY), _sum.label("unit_seconds")).outerjoin_from(
    _kept, _open, _same
)
_begun = select(_open).where(~exists(literal(1)).where(_same))
_all = union_all(_grown, _begun).cte("all_usage")
_used = units(_all.c.resource, _all.c.unit_seconds)
_given = func.coalesce(units(_all.c.resource, _quota_seconds(_all)), cast(0, Double))

QUERY = select(
    utc_text(_all.c.hour_us).label("hour"),
    *(_all.c[name] for name in _SHOWN),
    _used.label("resource_seconds"),
    _given.label("quota_seconds"),
    per(_used, func.nullif(_given, 0)).label("share_of_quota"),
)
