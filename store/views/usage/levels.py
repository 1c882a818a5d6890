"""Each ClusterQueue's quota and usage within an hour as levels: from one change to the next.

An amount above nominal is borrowed at that moment, whatever the rest of the hour was like; so each
difference is taken of levels, and only then summed over time.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Double,
    Select,
    Table,
    and_,
    cast,
    func,
    literal,
    select,
    union_all,
)

from store.reporting.tables import holding, quota, quota_level
from store.views.expressions import (
    hour_of,
    larger,
    ledger_end,
    requested_span,
    same,
    seconds,
    smaller,
)

KEY = ("partition", "cluster_queue", "flavor", "resource")
_SUMMED = ("used", "nominal", "lends")
_TOTALS = ("nominal", "used", "borrowed", "idle", "lendable")
_zero = cast(0, Double)


def newest_hour() -> CTE:
    """Return each partition's newest hour, up to the ledger's end, if it is asked for.

    Columns as all functions here take them: partition, begin_us, end_us.
    """
    end, span = ledger_end(), requested_span()
    begin_us = hour_of(end.c.at_us)
    within = and_(begin_us >= span.c.begin_us, begin_us < span.c.end_us)
    columns = end.c.partition, begin_us.label("begin_us"), end.c.at_us.label("end_us")
    return select(*columns).join_from(end, span, within).cte("newest_hour")


def by_hour(hour: CTE) -> CTE:
    """Return what the levels of an hour come to, in base units times seconds.

    Columns: the key, hour_us, and nominal, used, borrowed (above nominal), idle (below nominal) and
    lendable (of idle, what the lending limit lets go).
    """
    level = _levels(_changes(hour), hour).c
    key = [level[name] for name in KEY]
    sums = [total.label(name) for name, total in _totals(level).items()]
    return (
        select(*key, level.hour_us, *sums)
        .where(level.next_us > level.at_us, (level.nominal > _zero) | (level.used > _zero))
        .group_by(*key, level.hour_us)
        .cte("by_hour")
    )


def up_to(span: CTE) -> Select[Any]:
    """Return the rows of ``report_quota_level`` as they are at a span's end.

    Of its columns partition, begin_us, end_us, since_us and seq the last two say how far the rows
    go that are there. It costs what has changed since, and a row of each key.
    """
    level, row = _levels(_since(span), span, "step").c, quota_level.c
    key = [level[name] for name in KEY]
    steps = [func.sum(level[f"step_{name}"]).label(name) for name in _SUMMED]
    totals = [total.label(f"{name}_seconds") for name, total in _totals(level).items()]
    since = select(*key, *steps, *totals).group_by(*key).cte("since")
    sums = [
        (since.c[total.name] + func.coalesce(row[total.name], _zero)).label(total.name)
        for total in totals
    ]
    columns: list[ColumnElement[Any]] = [*(since.c[name] for name in (*KEY, *_SUMMED)), *sums]
    joined = select(*columns).outerjoin_from(since, quota_level, same(row, since.c, " ".join(KEY)))
    return joined.where(literal(value=True))  # SQLite takes ON CONFLICT for a join's ON


def summed(hour: CTE) -> CTE:
    """Return the columns of ``by_hour`` from ``report_quota_level``, which goes up to its end."""
    row, span = quota_level.c, hour.c
    sums = {name: row[f"{name}_seconds"] for name in _TOTALS}
    columns = [row[name] for name in KEY], [total.label(name) for name, total in sums.items()]
    anything = (sums["nominal"] > _zero) | (sums["used"] > _zero)
    return (
        select(*columns[0], span.begin_us.label("hour_us"), *columns[1])
        .join_from(hour, quota_level, row.partition == span.partition)
        .where(anything)
        .cte("summed")
    )


def lasting(span: CTE) -> Select[Any]:
    """Return the rows of ``report_quota_level`` at an hour's begin: the levels, and no sums."""
    changes = (
        _change(table, span, span.c.end_us, 1).where(table.c.to_seq.is_(None))
        for table in (holding, quota)
    )
    change = union_all(*changes).subquery("change").c
    key = [change[name] for name in KEY]
    levels = [func.sum(change[name]).label(name) for name in _SUMMED]
    none = [_zero.label(f"{name}_seconds") for name in _TOTALS]
    return select(*key, *levels, *none).group_by(*key)


def nominal_quota_time(kind: str, hour: CTE) -> Select[Any]:
    """Return nominal quota of a kind's objects times its time within an hour.

    Quota that was changed within the hour has two rows, for the caller to sum.
    """
    row, span = quota.c, hour.c
    until_us = smaller(func.coalesce(row.to_us, span.end_us), span.end_us)
    lasted = seconds(until_us - larger(row.from_us, span.begin_us))
    columns: list[ColumnElement[Any]] = [
        *(row.partition, row.owner, row.flavor, row.resource),
        (cast(row.nominal, Double) * lasted).label("nominal"),
    ]
    touching = select(*columns).join_from(quota, hour, _touches(hour))
    return touching.where(row.kind == kind)


def _totals(level: Any) -> dict[str, ColumnElement[Any]]:  # noqa: ANN401 - SQLAlchemy's columns
    """Return what levels come to over time, by name."""
    lasted = seconds(level.next_us - level.at_us)
    idle = larger(level.nominal - level.used, _zero)
    amounts = (
        level.nominal,
        level.used,
        larger(level.used - level.nominal, _zero),
        idle,
        smaller(idle, level.lends),
    )
    sums = [func.sum(amount * lasted) for amount in amounts]
    return dict(zip(_TOTALS, sums, strict=True))


def _levels(changes: Any, hour: CTE, *steps: str) -> CTE:  # noqa: ANN401 - SQLAlchemy's CompoundSelect
    """Return every level, from ``at_us`` to ``next_us``; under a prefix, by how much it changed."""
    change = changes.subquery("change").c
    key = [change[name] for name in KEY]
    sums = (func.sum(change[name]).label(name) for name in _SUMMED)
    at_once = select(*key, change.at_us, *sums).group_by(*key, change.at_us).cte("at_once")
    row, span = at_once.c, hour.c
    over: dict[str, Any] = {"partition_by": [row[name] for name in KEY], "order_by": row.at_us}
    return (
        select(
            *(row[name] for name in KEY),
            row.at_us,
            *(func.sum(row[name]).over(**over).label(name) for name in _SUMMED),
            func.coalesce(func.lead(row.at_us).over(**over), span.end_us).label("next_us"),
            span.begin_us.label("hour_us"),
            *(row[name].label(f"{step}_{name}") for step in steps for name in _SUMMED),
        )
        .join_from(at_once, hour, span.partition == row.partition)
        .cte("level")
    )


def _since(span: CTE) -> Any:  # noqa: ANN401 - SQLAlchemy's CompoundSelect
    """Return the levels that there are, and by how much which of them has changed since."""
    row, reached = quota_level.c, span.c
    start = select(*(row[name] for name in KEY), reached.since_us.label("at_us"))
    changes = [
        start.add_columns(*(row[name] for name in _SUMMED)).join_from(
            span, quota_level, row.partition == reached.partition
        )
    ]
    for table in (holding, quota):
        key, until = table.c, and_(table.c.to_us >= reached.since_us, table.c.to_seq > reached.seq)
        of_partition = key.partition == reached.partition
        begun = _change(table, span, key.from_us, 1, of_partition).where(key.from_seq > reached.seq)
        changes += begun, _change(table, span, key.to_us, -1).where(until)
    return union_all(*changes)


def _changes(hour: CTE) -> Any:  # noqa: ANN401 - SQLAlchemy's CompoundSelect
    """Return by how much which level changes when: beginnings and ends."""
    return union_all(
        _begun(holding, hour, holding.c.to_seq.is_(None)),
        _begun(holding, hour, _ended_since(hour)),
        _ended(holding, hour),
        _begun(quota, hour, _touches(hour)),
        _ended(quota, hour),
    )


def _begun(table: Table, hour: CTE, condition: ColumnElement[bool]) -> Select[Any]:
    """Return when rows begin to count in the hour."""
    at_us = larger(table.c.from_us, hour.c.begin_us)
    return _change(table, hour, at_us, 1).where(condition, table.c.from_us < hour.c.end_us)


def _ended(table: Table, hour: CTE) -> Select[Any]:
    """Return when rows cease to count in the hour."""
    to_us = table.c.to_us
    ended = and_(to_us > hour.c.begin_us, to_us < hour.c.end_us)
    return _change(table, hour, to_us, -1).where(ended)


def _change(
    table: Table,
    hour: CTE,
    at_us: ColumnElement[Any],
    sign: int,
    of_partition: ColumnElement[bool] | None = None,
) -> Select[Any]:
    row, same = table.c, of_partition
    if same is None:
        # Not by the key but by what has ended, or has not; and with no index made of the hour.
        same = row.partition + 0 == hour.c.partition + 0
    if table is holding:
        key = [row[name] for name in KEY]
        amounts = cast(row.amount, Double) * sign, _zero, _zero
        amounts_named = [amount.label(name) for amount, name in zip(amounts, _SUMMED, strict=True)]
        return select(*key, at_us.label("at_us"), *amounts_named).join_from(hour, table, same)
    lends = smaller(func.coalesce(row.lending_limit, row.nominal), row.nominal)
    columns: list[ColumnElement[Any]] = [
        *(row.partition, row.owner, row.flavor, row.resource, at_us, _zero),
        cast(row.nominal, Double) * sign,
        cast(lends, Double) * sign,
    ]
    return select(*columns).join_from(hour, table, same).where(row.kind == "ClusterQueue")


def _ended_since(hour: CTE) -> ColumnElement[bool]:
    return holding.c.to_us > hour.c.begin_us


def _touches(hour: CTE) -> ColumnElement[bool]:
    row, span = quota.c, hour.c
    lasts_into = and_(
        row.from_us < span.end_us, func.coalesce(row.to_us, span.end_us) > span.begin_us
    )
    return and_(row.partition == span.partition, lasts_into)
