"""Usage by hour: resource-seconds of every queue, namespace, author and priority."""

from __future__ import annotations

from sqlalchemy import (
    CTE,
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


def _quota(used: CTE) -> CTE:
    """Return the nominal quota times its time, for each hour and queue that was used."""
    names = ("partition", "hour_us", "cluster_queue", "flavor", "resource")
    hour = select(*(used.c[name] for name in names)).distinct().cte("used_hour")
    given, next_us = quota.c, hour.c.hour_us + _HOUR
    until_us = func.coalesce(given.to_us, _end.c.at_us)
    lasted = seconds(smaller(until_us, next_us) - larger(given.from_us, hour.c.hour_us))
    within = and_(
        given.partition == hour.c.partition,
        given.kind == "ClusterQueue",
        given.owner == hour.c.cluster_queue,
        given.flavor == hour.c.flavor,
        given.resource == hour.c.resource,
        given.from_us < next_us,
    )
    return (
        select(*hour.c, func.sum(cast(given.nominal, Double) * lasted).label("unit_seconds"))
        .join_from(hour, quota, within)
        .join(_end, _end.c.partition == hour.c.partition)
        .where(until_us > hour.c.hour_us)
        .group_by(*hour.c)
        .cte("given")
    )


_kept, _open = usage.alias("kept"), _held()
_same = and_(*(_kept.c[name] == _open.c[name] for name in _KEY))
_sum = _kept.c.unit_seconds + func.coalesce(_open.c.unit_seconds, cast(0, Double))
_grown = select(*(_kept.c[name] for name in _KEY), _sum.label("unit_seconds")).outerjoin_from(
    _kept, _open, _same
)
_begun = select(_open).where(~exists(literal(1)).where(_same))
ALL_USAGE = union_all(_grown, _begun).cte("all_usage")
"""Every hour's usage, what is still held included: base units times seconds."""
_all, _given = ALL_USAGE, _quota(ALL_USAGE)
_used = units(_all.c.resource, _all.c.unit_seconds)
_nothing = cast(0, Double)

QUERY = select(
    utc_text(_all.c.hour_us).label("hour"),
    *(_all.c[name] for name in _SHOWN),
    _used.label("resource_seconds"),
    func.coalesce(units(_all.c.resource, _given.c.unit_seconds), _nothing).label("quota_seconds"),
    per(_all.c.unit_seconds, func.nullif(_given.c.unit_seconds, 0)).label("share_of_quota"),
).outerjoin_from(
    _all,
    _given,
    and_(*(_all.c[name] == _given.c[name] for name in _given.c.keys()[:-1])),
)
