"""Usage by hour: resource-seconds of each queue, namespace, author and priority class."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Double,
    ScalarSelect,
    Select,
    and_,
    cast,
    func,
    literal,
    select,
    union_all,
)

from store.reporting.tables import holding, quota, usage
from store.statements.clock import HOUR_US
from store.views.columns import UNIT_SECONDS, ViewColumn, copied, moment, shown
from store.views.expressions import (
    hour_of,
    larger,
    ledger_end,
    per,
    requested_span,
    same,
    seconds,
    smaller,
    units,
)

SUMS = ("resource_seconds",)

_KEY = tuple(column.name for column in usage.primary_key.columns)
_QUEUE_KEY = ("partition", "hour_us", "cluster_queue", "flavor", "resource")
_HOUR = literal(HOUR_US, usage.c.hour_us.type)
_end, _asked = ledger_end(), requested_span()


def _held() -> CTE:
    """Return what is still held, as far as it counts in the ledger's newest hour."""
    row = holding.c
    hour_us = hour_of(_end.c.at_us)
    lasted = seconds(_end.c.at_us - larger(row.from_us, hour_us))
    key = [hour_us.label("hour_us") if name == "hour_us" else row[name] for name in _KEY]
    copied = [row[name] for name in _KEY if name != "hour_us"]
    return (
        select(
            *key,
            func.sum(cast(row.amount, Double) * lasted).label("unit_seconds"),
            _end.c.at_us.label("end_us"),
        )
        .join_from(holding, _end, _end.c.partition == row.partition)
        .where(row.to_seq.is_(None), row.from_us < _end.c.at_us, row.amount > 0)
        .group_by(*copied, _end.c.at_us)
        .cte("held")
    )


def _closed() -> Select[Any]:
    """Return the rows of the hours that are asked for, as the table has them."""
    row = usage.c
    columns = [*(row[name] for name in (*_KEY, "unit_seconds")), _end.c.at_us.label("end_us")]
    in_span = and_(row.hour_us >= _asked.c.begin_us, row.hour_us < _asked.c.end_us)
    return (
        select(*columns)
        .join_from(usage, _end, _end.c.partition == row.partition)
        .join(_asked, in_span)
    )


def _newest() -> Select[Any]:
    """Return the newest hour's usage: what the table has of it, and what is still held."""
    newest = (
        union_all(_closed().where(usage.c.hour_us >= _newest_us), select(*_HELD.c))
        .subquery("newest")
        .c
    )
    key = [newest[name] for name in _KEY]
    counted_twice = (
        func.sum(newest.unit_seconds).label("unit_seconds"),
        func.max(newest.end_us).label("end_us"),
    )
    return select(*key, *counted_twice).group_by(*key)


def _hours() -> CTE:
    """Return the hours in which anything was used."""
    hourly, open_holdings = usage.c, _HELD.c
    hours = select(hourly.partition, hourly.hour_us).union(
        select(open_holdings.partition, open_holdings.hour_us)
    )
    return hours.cte("hours")


def _quota_seconds(used: CTE) -> ScalarSelect[Any]:
    """Return the nominal quota times its time, for an hour and queue that was used.

    It is looked up by the key of the quota's table for each row, and only where it is asked for.
    """
    row, next_us = quota.c, used.c.hour_us + _HOUR
    until_us = func.coalesce(row.to_us, used.c.end_us)
    lasted = seconds(smaller(until_us, next_us) - larger(row.from_us, used.c.hour_us))
    of_queue = and_(
        row.partition == used.c.partition,
        row.kind == "ClusterQueue",
        row.owner == used.c.cluster_queue,
        row.flavor == used.c.flavor,
        row.resource == used.c.resource,
    )
    return (
        select(func.sum(cast(row.nominal, Double) * lasted))
        .where(of_queue, row.from_us < next_us, until_us > used.c.hour_us)
        .correlate(used)
        .scalar_subquery()
    )


def _quota() -> CTE:
    """Return the nominal quota times its time, for each hour and queue."""
    row, next_us = quota.c, HOURS.c.hour_us + _HOUR
    until_us = func.coalesce(row.to_us, _end.c.at_us)
    lasted = seconds(smaller(until_us, next_us) - larger(row.from_us, HOURS.c.hour_us))
    key = row.partition, HOURS.c.hour_us, row.owner, row.flavor, row.resource
    named = [column.label(name) for column, name in zip(key, _QUEUE_KEY, strict=True)]
    within = and_(
        HOURS.c.partition == row.partition, row.from_us < next_us, until_us > HOURS.c.hour_us
    )
    return (
        select(*named, func.sum(cast(row.nominal, Double) * lasted).label("unit_seconds"))
        .join_from(quota, _end, _end.c.partition == row.partition)
        .join(HOURS, within)
        .where(row.kind == "ClusterQueue")
        .group_by(*key)
        .cte("given")
    )


def _columns(quota_s: ColumnElement[Any]) -> tuple[ViewColumn, ...]:
    """Return the report's columns, given the quota times its time of each row's hour."""
    row = ALL_USAGE.c
    used, nominal = units(row.resource, row.unit_seconds), units(row.resource, quota_s)
    share = per(row.unit_seconds, func.nullif(quota_s, 0))
    key = (
        "cluster cluster_queue local_queue namespace author priority_class priority flavor resource"
    )
    return (
        moment("hour", "beginning of the hour", row.hour_us),
        *copied(row, key),
        ViewColumn(
            "resource_seconds", UNIT_SECONDS, "amount times time held within the hour", used
        ),
        ViewColumn(
            "quota_seconds",
            UNIT_SECONDS,
            "the ClusterQueue's nominal quota times its time",
            func.coalesce(nominal, cast(0, Double)),
        ),
        ViewColumn(
            "share_of_quota", "1", "resource_seconds / quota_seconds; above 1: borrowed", share
        ),
        *copied(row, "partition"),
    )


_HELD = _held()
_newest_us = hour_of(_end.c.at_us)
NEWEST = _newest().cte("newest_usage")
"""The newest hour's usage, what is still held included: base units times seconds."""
_is_newest = and_(NEWEST.c.hour_us >= _asked.c.begin_us, NEWEST.c.hour_us < _asked.c.end_us)
ALL_USAGE, HOURS = (
    union_all(
        _closed().where(usage.c.hour_us < _newest_us),
        select(*NEWEST.c).join_from(NEWEST, _asked, _is_newest),
    ).cte("all_usage"),
    _hours(),
)
"""Every hour's usage, and those hours."""
_given = _quota()
_same_queue = same(ALL_USAGE.c, _given.c, " ".join(_QUEUE_KEY))

COLUMNS = _columns(_quota_seconds(ALL_USAGE))
QUERY = shown(COLUMNS)
POSTGRESQL = shown(_columns(_given.c.unit_seconds)).outerjoin_from(ALL_USAGE, _given, _same_queue)
"""The same rows: PostgreSQL hashes what it joins, where SQLite would first make an index of it."""
