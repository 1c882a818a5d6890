"""What each hour came to: usage while it lasts, and quota once it is over.

A report of years must not add up every holding there was. A holding that ends adds its part of the
current hour; when the ledger's time enters a new hour, what is still held is added up to that hour.
What is written of an hour that is over changes no more.

The levels of quota are summed up while the hour lasts, each time that the ledger has grown by so
much, so that the turn which ends a busy hour has little of it left to do.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import (
    CTE,
    BigInteger,
    Connection,
    Double,
    Integer,
    Select,
    and_,
    bindparam,
    cast,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from store.reporting.rows import HoldingRow, UsageRow
from store.reporting.tables import (
    holding,
    quota_hour,
    quota_level,
    quota_position,
    usage,
    usage_day,
)
from store.statements.clock import HOUR_US
from store.statements.compiled import InsertInto
from store.views.expressions import larger, per, seconds, unindexed
from store.views.usage.lending import hour_rows
from store.views.usage.levels import lasting, summed, up_to
from tidegate.model.calendar import DAY_US

_KEY = tuple(column.name for column in usage.primary_key.columns)
_COPIED = tuple(name for name in _KEY if name != "hour_us")
_copied = attrgetter(*_KEY[2:])
_LASTING = and_(
    unindexed(holding.c.partition) == bindparam("of"),
    holding.c.to_seq.is_(None),
    holding.c.amount > 0,
)
_EARLIEST = select(func.min(holding.c.from_us)).where(_LASTING)
_Insert: TypeAlias = postgresql.Insert | sqlite.Insert
_INTO: dict[str, _Insert] = {"sqlite": sqlite.insert(usage), "postgresql": postgresql.insert(usage)}
SILENT_HOURS_MAX = 31 * 24
"""Hours of one silence that get rows of quota: what a clock set ahead costs is bounded."""
_SUMS = ("unit_seconds", "borrowed_seconds")

assert _KEY[:2] == ("partition", "hour_us")


class HourlyUsage:
    """What a turn adds to the hours; the same key is written once."""

    def __init__(self) -> None:
        self._added = dict[tuple[Any, ...], UsageRow]()

    def end(self, held_row: HoldingRow, at_us: int) -> None:
        """Add what a holding held of the hour in which it ends."""
        hour_us = hour_begin(at_us)
        lasted_us = at_us - max(held_row.from_us, hour_us)
        if not lasted_us or not held_row.amount:
            return
        key = (held_row.partition, hour_us, *_copied(held_row))
        row = self._added.get(key)
        if row is None:
            row = self._added[key] = UsageRow(*key)
        row.unit_seconds += held_row.amount * lasted_us / 1_000_000

    def write(self, conn: Connection) -> None:
        """Add it to what the hours have already."""
        if self._added:
            _ADD_USAGE.execute(conn, list(self._added.values()))


def hour_begin(at_us: int) -> int:
    """Return the beginning of the hour that holds a time."""
    return at_us - at_us % HOUR_US


def settle_hours(conn: Connection, partition: int, from_us: int, to_us: int) -> None:
    """Add what is held throughout to every hour that ended between two times of the ledger.

    Costs nothing for hours without usage, however many they are.
    """
    earliest_us = conn.scalar(_EARLIEST, {"of": partition})
    if earliest_us is None:
        return
    from_us = max(from_us, earliest_us)
    for hour_us in range(hour_begin(from_us), hour_begin(to_us), HOUR_US):
        parameters = {"of": partition, "begun_us": hour_us, "ended_us": hour_us + HOUR_US}
        conn.execute(_SETTLE[conn.dialect.name], parameters)


def _held_in_hour() -> Select[Any]:
    """Return what each key holds from the later of its beginning and the hour's to its end."""
    hour_us = bindparam("begun_us", type_=BigInteger)
    lasted = bindparam("ended_us", type_=BigInteger) - larger(holding.c.from_us, hour_us)
    key = [hour_us.label(name) if name == "hour_us" else holding.c[name] for name in _KEY]
    return (
        select(*key, func.sum(seconds(lasted) * cast(holding.c.amount, Double)), cast(0, Double))
        .where(_LASTING)
        .group_by(*(holding.c[name] for name in _COPIED))
    )


def _upsert_usage(new: _Insert, *, settles: bool) -> _Insert:
    if settles:
        new = new.from_select([*_KEY, "unit_seconds", "borrowed_seconds"], _held_in_hour())
    more = usage.c.unit_seconds + new.excluded.unit_seconds
    return new.on_conflict_do_update(index_elements=_KEY, set_={"unit_seconds": more})


_ADD_USAGE = InsertInto(
    usage,
    UsageRow,
    _upsert_usage(_INTO["sqlite"], settles=False),
    f"ON CONFLICT ({', '.join(_KEY)}) DO UPDATE"
    f" SET unit_seconds = {usage.name}.unit_seconds + excluded.unit_seconds",
)
_SETTLE = {name: _upsert_usage(into, settles=True) for name, into in _INTO.items()}


class Position(NamedTuple):
    """A place in the ledger."""

    seq: int
    at_us: int


def add_levels(conn: Connection, partition: int, until: Position) -> None:
    """Sum up the levels of quota from where they were summed up to, within the same hour."""
    since = conn.execute(_POSITION, {"of": partition}).first() or Position(0, 0)
    span = {"of": partition, "begun_us": hour_begin(until.at_us), "ended_us": until.at_us}
    conn.execute(_ADD_LEVELS[conn.dialect.name], span | {"since_us": since.at_us, "seq": since.seq})
    _record_level_position(conn, partition, until)


def _record_level_position(conn: Connection, partition: int, until: Position) -> None:
    """Note how far the levels go."""
    conn.execute(delete(quota_position).where(quota_position.c.partition == partition))
    conn.execute(insert(quota_position).values(partition=partition, **until._asdict()))


def close_hours(conn: Connection, partition: int, until: Position, to_us: int) -> None:
    """Close every hour that ended between two times of the ledger, in which nothing else happened.

    Behind the first of them nothing changes until ``to_us``: the others are like the second. Of a
    silence of more than ``SILENT_HOURS_MAX`` the rest has usage, and no rows of quota.
    """
    settle_hours(conn, partition, until.at_us, to_us)
    first, last = hour_begin(until.at_us), hour_begin(to_us) - HOUR_US
    for hour_us in range(first, min(first + HOUR_US, last) + 1, HOUR_US):
        _close_hour(conn, partition, hour_us, until.seq)
    if last > first + HOUR_US:
        bound_us = first + SILENT_HOURS_MAX * HOUR_US
        repeated = {"of": partition, "like_us": first + HOUR_US, "last_us": min(last, bound_us)}
        conn.execute(_REPEAT, repeated)
        _record_level_position(conn, partition, Position(until.seq, last + HOUR_US))
    span = {"of": partition, "first_us": first, "last_us": last}
    for (hour_us,) in conn.execute(_USED, span).fetchall():
        parameters = {"of": partition, "begun_us": hour_us}
        conn.execute(_BORROW, parameters)
        conn.execute(
            _TO_DAY[conn.dialect.name], parameters | {"day_us": hour_us - hour_us % DAY_US}
        )


def _close_hour(conn: Connection, partition: int, hour_us: int, seq: int) -> None:
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


def _repeat_hours() -> Any:  # noqa: ANN401 - SQLAlchemy's Insert of many types
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


def _share_borrowing() -> Any:  # noqa: ANN401 - SQLAlchemy's Update of many types
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


def _add_to_day(new: _Insert) -> _Insert:
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


_hour = _span()
_rows, _lasting_quota = hour_rows(_hour, summed(_hour)), lasting(_hour)
_CLOSE = insert(quota_hour).from_select(_rows.selected_columns.keys(), _rows)
_BEGIN = insert(quota_level).from_select(_lasting_quota.selected_columns.keys(), _lasting_quota)
_POSITION = select(quota_position.c.seq, quota_position.c.at_us).where(
    quota_position.c.partition == _number("of")
)
_ADD_LEVELS = {
    "sqlite": _levels_from(sqlite.insert(quota_level)),
    "postgresql": _levels_from(postgresql.insert(quota_level)),
}
_REPEAT, _BORROW = _repeat_hours(), _share_borrowing()
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
    "sqlite": _add_to_day(sqlite.insert(usage_day)),
    "postgresql": _add_to_day(postgresql.insert(usage_day)),
}
