"""Usage by hour, kept as it grows: a report of years must not add up every holding there was.

A holding counts in two ways. When it ends, its part of the current hour is added. When the
ledger's time enters a new hour, what is still held is added up to that hour. So each hour before
the newest is complete, and the newest lacks only what is held now.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, TypeAlias

from sqlalchemy import BigInteger, Connection, Double, Select, and_, bindparam, cast, func, select
from sqlalchemy.dialects import postgresql, sqlite

from store.reporting.rows import HoldingRow, UsageRow
from store.reporting.tables import holding, usage
from store.statements.clock import HOUR_US
from store.statements.writing import Inserting
from store.views.expressions import larger, seconds, unindexed

_KEY = tuple(column.name for column in usage.primary_key.columns)
_COPIED = tuple(name for name in _KEY if name != "hour_us")
assert _KEY[:2] == ("partition", "hour_us")
_copied = attrgetter(*_KEY[2:])


class Usage:
    """What a turn adds to the hours; the same key is written once."""

    def __init__(self) -> None:
        self._added = dict[tuple[Any, ...], UsageRow]()

    def end(self, held_row: HoldingRow, at_us: int) -> None:
        """Add what a holding held of the hour in which it ends."""
        hour_us = hour(at_us)
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
            _ADD.execute(conn, list(self._added.values()))


def hour(at_us: int) -> int:
    """Return the beginning of the hour that holds a time."""
    return at_us - at_us % HOUR_US


def settle(conn: Connection, partition: int, from_us: int, to_us: int) -> None:
    """Add what is held throughout to every hour that ended between two times of the ledger.

    Costs nothing for hours without usage, however many they are.
    """
    earliest_us = conn.scalar(_EARLIEST, {"of": partition})
    if earliest_us is None:
        return
    from_us = max(from_us, earliest_us)
    for hour_us in range(hour(from_us), hour(to_us), HOUR_US):
        parameters = {"of": partition, "begun_us": hour_us, "ended_us": hour_us + HOUR_US}
        conn.execute(_SETTLE[conn.dialect.name], parameters)


def _lasting() -> Select[Any]:
    """Return what each key holds from the later of its beginning and the hour's to its end."""
    hour_us = bindparam("begun_us", type_=BigInteger)
    lasted = bindparam("ended_us", type_=BigInteger) - larger(holding.c.from_us, hour_us)
    key = [hour_us.label(name) if name == "hour_us" else holding.c[name] for name in _KEY]
    return (
        select(*key, func.sum(seconds(lasted) * cast(holding.c.amount, Double)), cast(0, Double))
        .where(_LASTING)
        .group_by(*(holding.c[name] for name in _COPIED))
    )


_LASTING = and_(
    unindexed(holding.c.partition) == bindparam("of"),
    holding.c.to_seq.is_(None),
    holding.c.amount > 0,
)
_EARLIEST = select(func.min(holding.c.from_us)).where(_LASTING)
_Insert: TypeAlias = postgresql.Insert | sqlite.Insert


def _adding(new: _Insert, *, lasting: bool) -> _Insert:
    if lasting:
        new = new.from_select([*_KEY, "unit_seconds", "borrowed_seconds"], _lasting())
    more = usage.c.unit_seconds + new.excluded.unit_seconds
    return new.on_conflict_do_update(index_elements=_KEY, set_={"unit_seconds": more})


_INTO: dict[str, _Insert] = {"sqlite": sqlite.insert(usage), "postgresql": postgresql.insert(usage)}
_ADD = Inserting(
    usage,
    UsageRow,
    _adding(_INTO["sqlite"], lasting=False),
    f"ON CONFLICT ({', '.join(_KEY)}) DO UPDATE"
    f" SET unit_seconds = {usage.name}.unit_seconds + excluded.unit_seconds",
)
_SETTLE = {name: _adding(into, lasting=True) for name, into in _INTO.items()}
