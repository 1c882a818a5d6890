"""Hours that are over: what became of quota in each, and what of its usage was borrowed.

Once an hour, when the ledger's time enters a new one. What is written of it changes no more. The
levels of quota are summed up while the hour lasts, each time that the ledger has grown by so much,
so that the turn which ends a busy hour has little of it left to do.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import (
    CTE,
    BigInteger,
    Connection,
    Integer,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from store.reporting.hourly.usage import hour, settle
from store.reporting.tables import quota_hour, quota_level, quota_position, usage, usage_day
from store.statements.clock import HOUR_US
from store.views.expressions import per
from store.views.usage.lending import hour_rows
from store.views.usage.levels import lasting, summed, up_to
from tidegate.model.calendar import DAY_US

SILENT_HOURS_MAX = 31 * 24
"""Hours of one silence that get rows of quota: what a clock set ahead costs is bounded."""
_Insert: TypeAlias = postgresql.Insert | sqlite.Insert


class Position(NamedTuple):
    """A place in the ledger."""

    seq: int
    at_us: int


def add_levels(conn: Connection, partition: int, until: Position) -> None:
    """Sum up the levels of quota from where they were summed up to, within the same hour."""
    since = conn.execute(_POSITION, {"of": partition}).first() or Position(0, 0)
    span = {"of": partition, "begun_us": hour(until.at_us), "ended_us": until.at_us}
    conn.execute(_ADD[conn.dialect.name], span | {"since_us": since.at_us, "seq": since.seq})
    _reach(conn, partition, until)


def _reach(conn: Connection, partition: int, until: Position) -> None:
    """Note how far the levels go."""
    conn.execute(delete(quota_position).where(quota_position.c.partition == partition))
    conn.execute(insert(quota_position).values(partition=partition, **until._asdict()))


def close_hours(conn: Connection, partition: int, until: Position, to_us: int) -> None:
    """Close every hour that ended between two times of the ledger, in which nothing else happened.

    Behind the first of them nothing changes until ``to_us``: the others are like the second. Of a
    silence of more than ``SILENT_HOURS_MAX`` the rest has usage, and no rows of quota.
    """
    settle(conn, partition, until.at_us, to_us)
    first, last = hour(until.at_us), hour(to_us) - HOUR_US
    for hour_us in range(first, min(first + HOUR_US, last) + 1, HOUR_US):
        _close(conn, partition, hour_us, until.seq)
    if last > first + HOUR_US:
        bound_us = first + SILENT_HOURS_MAX * HOUR_US
        repeated = {"of": partition, "like_us": first + HOUR_US, "last_us": min(last, bound_us)}
        conn.execute(_REPEAT, repeated)
        _reach(conn, partition, Position(until.seq, last + HOUR_US))
    span = {"of": partition, "first_us": first, "last_us": last}
    for (hour_us,) in conn.execute(_USED, span).fetchall():
        parameters = {"of": partition, "begun_us": hour_us}
        conn.execute(_BORROW, parameters)
        conn.execute(
            _TO_DAY[conn.dialect.name], parameters | {"day_us": hour_us - hour_us % DAY_US}
        )


def _close(conn: Connection, partition: int, hour_us: int, seq: int) -> None:
    """Write an hour's rows of quota, and begin the levels of the next hour."""
    ended_us = hour_us + HOUR_US
    add_levels(conn, partition, Position(seq, ended_us))
    parameters = {"of": partition, "begun_us": hour_us, "ended_us": ended_us}
    conn.execute(_CLOSE, parameters)
    conn.execute(delete(quota_level).where(quota_level.c.partition == partition))
    conn.execute(_BEGIN, parameters)


def _number(name: str) -> Any:  # noqa: ANN401 - SQLAlchemy's BindParameter of many types
    return bindparam(name, type_=Integer if name == "of" else BigInteger)


def _span(*more: str) -> CTE:
    columns = {"partition": "of", "begin_us": "begun_us", "end_us": "ended_us"}
    columns |= {name: name for name in more}
    return select(*(_number(parameter).label(name) for name, parameter in columns.items())).cte(
        "span"
    )


def _levels_from(new: _Insert) -> _Insert:
    """Return what brings the levels and their sums up to the end of a span."""
    rows = up_to(_span("since_us", "seq"))
    new = new.from_select(rows.selected_columns.keys(), rows)
    key = [column.name for column in quota_level.primary_key.columns]
    later = {name: new.excluded[name] for name in quota_level.c.keys() if name not in key}  # noqa: SIM118 - a collection of columns
    return new.on_conflict_do_update(index_elements=key, set_=later)


def _repeating() -> Any:  # noqa: ANN401 - SQLAlchemy's Insert of many types
    """Return what copies an hour's rows to the hours behind it, up to and with the last."""
    rows = quota_hour.c
    later = select((_number("like_us") + literal(HOUR_US)).label("hour_us")).cte(
        "later", recursive=True
    )
    next_us = later.c.hour_us + literal(HOUR_US)
    later = later.union_all(select(next_us).where(next_us <= _number("last_us")))
    copied = [later.c.hour_us if column is rows.hour_us else column for column in rows]
    like = and_(rows.partition == _number("of"), rows.hour_us == _number("like_us"))
    return insert(quota_hour).from_select(
        list(rows.keys()), select(*copied).join_from(later, quota_hour, like)
    )


def _borrowing() -> Any:  # noqa: ANN401 - SQLAlchemy's Update of many types
    """Return what shares out a queue's borrowing among its users, by how much each used."""
    same = [
        quota_hour.c[name] == usage.c[name]
        for name in ("partition", "hour_us", "cluster_queue", "flavor", "resource")
    ]
    share = (
        select(per(quota_hour.c.borrowed, quota_hour.c.used))
        .where(*same, quota_hour.c.borrowed > 0)
        .correlate(usage)
        .scalar_subquery()
    )
    borrowed = usage.c.unit_seconds * func.coalesce(share, literal(0.0))
    return update(usage).where(_in_hour()).values(borrowed_seconds=borrowed)


def _in_hour() -> Any:  # noqa: ANN401 - SQLAlchemy's condition
    return and_(usage.c.partition == _number("of"), usage.c.hour_us == _number("begun_us"))


def _adding(new: _Insert) -> _Insert:
    """Return what adds an hour's usage to its day."""
    key = [column.name for column in usage_day.primary_key.columns]
    copied = [
        _number("day_us").label(name) if name == "day_us" else usage.c[name].label(name)
        for name in key
    ]
    sums = [func.sum(usage.c[name]).label(name) for name in _SUMS]
    grouped = [usage.c[name] for name in key if name != "day_us"]
    new = new.from_select(
        [*key, *_SUMS], select(*copied, *sums).where(_in_hour()).group_by(*grouped)
    )
    more = {name: usage_day.c[name] + new.excluded[name] for name in _SUMS}
    return new.on_conflict_do_update(index_elements=key, set_=more)


_SUMS = ("unit_seconds", "borrowed_seconds")
_hour = _span()
_rows, _lasting = hour_rows(_hour, summed(_hour)), lasting(_hour)
_CLOSE = insert(quota_hour).from_select(_rows.selected_columns.keys(), _rows)
_BEGIN = insert(quota_level).from_select(_lasting.selected_columns.keys(), _lasting)
_POSITION = select(quota_position.c.seq, quota_position.c.at_us).where(
    quota_position.c.partition == _number("of")
)
_ADD = {
    "sqlite": _levels_from(sqlite.insert(quota_level)),
    "postgresql": _levels_from(postgresql.insert(quota_level)),
}
_REPEAT, _BORROW = _repeating(), _borrowing()
_USED = (
    select(usage.c.hour_us)
    .where(
        usage.c.partition == _number("of"),
        usage.c.hour_us.between(_number("first_us"), _number("last_us")),
    )
    .distinct()
    .order_by(usage.c.hour_us)
)
_TO_DAY = {
    "sqlite": _adding(sqlite.insert(usage_day)),
    "postgresql": _adding(postgresql.insert(usage_day)),
}
