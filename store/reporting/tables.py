"""The reporting tables: derived from the events in the same transaction, so never behind them.

Amounts are integers in base units (milli-CPU, bytes, …) and times UTC microseconds, as in the
ledger; the views turn them into what people read. ``to_us`` NULL means: still so. Every table
can be emptied and made again from the events (``store.reporting.projection.rebuild``).
"""

from __future__ import annotations

from types import NoneType
from typing import Any, get_args

import msgspec
from msgspec.structs import FieldInfo, fields
from sqlalchemy import Boolean, Column, Double, Index, Integer, String, Table
from sqlalchemy.types import TypeEngine

from store.partitions.making import is_partition
from store.reporting import rows
from store.tables import Number, metadata

_USED = "cluster_queue flavor resource"
_USER = "namespace local_queue author priority_class"
_TYPES: dict[object, TypeEngine[Any]] = {int: Number, float: Double(), bool: Boolean()}


def _table_of(row: type[msgspec.Struct], name: str, key: str, **options: Any) -> Table:  # noqa: ANN401 - SQLAlchemy's
    """Return the table whose columns are a row's fields; spaces separate the key's names."""
    columns = (_column(field, primary_key=field.name in key.split()) for field in fields(row))
    return Table(name, metadata, *columns, **options)


def _column(field: FieldInfo, *, primary_key: bool) -> Column[Any]:
    if field.name == "partition":
        return Column(field.name, Integer, primary_key=True, autoincrement=False)
    kinds = get_args(field.type) or (field.type,)
    kind = _TYPES.get(kinds[0], String())  # what is none of these is a text
    nullable = NoneType in kinds
    return Column(field.name, kind, primary_key=primary_key, autoincrement=False, nullable=nullable)


def _key_columns(names: str) -> list[Column[Any]]:
    kinds: dict[str, Any] = {"partition": Integer, "hour_us": Number, "day_us": Number}
    return [
        Column(name, kinds.get(name, String), primary_key=True, autoincrement=False)
        for name in names.split()
    ]


def _sum_columns(names: str) -> list[Column[float]]:
    """Return columns of base units times seconds."""
    return [Column(name, Double, nullable=False) for name in names.split()]


def _index_open_rows(table: Table, by: str, ended: str) -> None:
    """Index the rows that have not ended: few, however long the history grows.

    SQLite takes the index that most conditions name, and has no statistics to know that this one is
    small: so the column that is always NULL here comes first. PostgreSQL leaves that condition
    out, since the index implies it, and would walk the whole index for each name: there the name
    alone is indexed, and there is room beside each row to change it without touching an index.
    """
    lasts, first = table.c[ended].is_(None), (table.c[ended], table.c.partition, table.c[by])
    Index(f"{table.name}_lasts", *first, sqlite_where=lasts, info={"dialects": {"sqlite"}}).ddl_if(
        dialect="sqlite"
    )
    Index(
        f"{table.name}_named",
        table.c[by],
        postgresql_where=lasts,
        info={"dialects": {"postgresql"}},
    ).ddl_if(dialect="postgresql")


def is_created_on(dialect: str, item: object) -> bool:
    """Return whether a table, index or other item is made by migrations on this database."""
    if isinstance(item, Table) and is_partition(item.name):
        return False
    return not isinstance(item, Index) or dialect in item.info.get("dialects", (dialect,))


workload = _table_of(rows.WorkloadRow, "report_workload", "partition submitted_seq")
_index_open_rows(workload, "workload", "removed_seq")

WAITS_BY_LENGTH = "report_wait_admitted"
"""The index by which SQLite reads percentiles of waits."""

wait = _table_of(rows.WaitRow, "report_wait", "partition from_seq")
_index_open_rows(wait, "workload", "to_seq")
Index(
    WAITS_BY_LENGTH,
    *(wait.c[name] for name in ("cluster", "cluster_queue", "local_queue", "namespace")),
    wait.c.priority_class,
    wait.c.to_us - wait.c.from_us,
    sqlite_where=wait.c.outcome == "admitted",
    info={"dialects": {"sqlite"}},
).ddl_if(dialect="sqlite")

holding = _table_of(rows.HoldingRow, "report_holding", "partition from_seq podset flavor resource")
_index_open_rows(holding, "workload", "to_seq")
Index("report_holding_reservation", holding.c.reservation_seq)
# Not by partition first: PostgreSQL, while it has no statistics, would take it for the key's index.
_ended = holding.c.to_us.is_not(None)
Index("report_holding_ended", holding.c.to_us, sqlite_where=_ended, postgresql_where=_ended)

_key = f"partition hour_us {_USED} {_USER} priority cluster"
usage = _table_of(rows.UsageRow, "report_usage", _key, sqlite_with_rowid=False)
"""Usage of each hour, but for what is still held and began to count in the newest hour.

An hour that is over says what of it was borrowed: see ``store.reporting.hourly``.
"""

usage_day = Table(
    "report_usage_day",
    metadata,
    *_key_columns(f"partition day_us {_USED} {_USER} cluster"),
    *_sum_columns("unit_seconds borrowed_seconds"),
    sqlite_with_rowid=False,
)
"""Usage of each UTC day, of its hours that are over."""

quota_hour = Table(
    "report_quota_hour",
    metadata,
    *_key_columns(f"partition hour_us {_USED}"),
    Column("cohort", String, nullable=False),  # the root of its tree at the hour's end, or empty
    *_sum_columns("nominal used borrowed lent idle"),
    sqlite_with_rowid=False,
)
"""What became of each ClusterQueue's quota in each hour that is over."""

quota_level = Table(
    "report_quota_level",
    metadata,
    *_key_columns(f"partition {_USED}"),
    *_sum_columns("used nominal lends"),  # base units
    *_sum_columns("nominal_seconds used_seconds borrowed_seconds idle_seconds lendable_seconds"),
    sqlite_with_rowid=False,
)
"""How much of each quota is used, and what that came to in the hour so far: up to a position."""

quota_position = Table(
    "report_quota_position",
    metadata,
    *_key_columns("partition"),
    Column("seq", Number, nullable=False),
    Column("at_us", Number, nullable=False),
)
"""How far ``report_quota_level`` goes: the event that it counts last, and up to when."""

quota = _table_of(rows.QuotaRow, "report_quota", "partition kind owner flavor resource from_seq")

_index_open_rows(quota, "owner", "to_seq")

budget = _table_of(rows.BudgetRow, "report_budget", "partition kind owner resource from_seq")

_index_open_rows(budget, "owner", "to_seq")

queue = _table_of(rows.QueueRow, "report_queue", "partition kind owner from_seq")

_index_open_rows(queue, "owner", "to_seq")

preemption = _table_of(rows.PreemptionRow, "report_preemption", "partition seq")
_index_open_rows(preemption, "workload", "released_seq")

priority_class = _table_of(rows.PriorityClassRow, "report_priority_class", "partition kind name")

price = _table_of(
    rows.PriceRow,
    "report_price",
    "partition flavor resource priority_class quota from_seq written_from day_from",
)
"""What chargeback multiplies with. A day that is over keeps the price that it had."""
