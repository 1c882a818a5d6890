"""The reporting tables: derived from the events in the same transaction, so never behind them.

Amounts are integers in base units (milli-CPU, bytes, …) and times UTC microseconds, as in the
ledger; the views turn them into what people read. ``to_us`` NULL means: still so. Every table
can be emptied and made again from the events (``store.reporting.projection.rebuild``).
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Double, Index, Integer, String, Table

from store.partitions.making import is_partition
from store.tables import Number, metadata

_USED = ("cluster_queue", "flavor", "resource")
_USER = ("namespace", "local_queue", "author", "priority_class")


def _key(name: str, kind: type[String | Integer] | None = None) -> Column[object]:
    chosen = Number if kind is None else kind()
    return Column(name, chosen, primary_key=True, autoincrement=False)


def _keys(*names: str) -> list[Column[object]]:
    return [_key(name, String) for name in names]


def _text(*names: str) -> list[Column[str]]:
    return [Column(name, String, nullable=False) for name in names]


def _number(*names: str) -> list[Column[int]]:
    return [Column(name, Number, nullable=False) for name in names]


def _sums(*names: str) -> list[Column[float]]:
    """Return columns of base units times seconds."""
    return [Column(name, Double, nullable=False) for name in names]


def _perhaps(*names: str) -> list[Column[int]]:
    return [Column(name, Number, nullable=True) for name in names]


def _index_what_lasts(table: Table, by: str, ended: str) -> None:
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


def made_on(dialect: str, item: object) -> bool:
    """Return whether a table, index or other item is made by migrations on this database."""
    if isinstance(item, Table) and is_partition(item.name):
        return False
    return not isinstance(item, Index) or dialect in item.info.get("dialects", (dialect,))


workload = Table(
    "report_workload",
    metadata,
    _key("partition", Integer),
    _key("submitted_seq"),
    *_text("cluster", "workload", "namespace", "name", "uid", "job_kind", "job_name"),
    *_text("local_queue", "cluster_queue"),  # cluster_queue: once decided on
    *_text("priority_class", "pod_priority_class"),
    *_number("priority"),
    Column("own_priority", Number),  # a direct Workload's
    *_number("priority_boost"),
    *_text("author", "pods", "reclaimed"),  # JSON: podset to how many it has, and has had
    *_number("created_us", "submitted_us"),
    *_text("phase", "reason", "message"),  # phase as in tidegate.contracts.phases.Phase, or removed
    *_number("phase_us"),  # since when
    *_perhaps("not_before_us"),  # backing off until then
    *_perhaps("reservation_seq", "reserved_us", "admitted_us"),  # of the newest reservation
    *_perhaps("intent_seq"),  # its PreemptionIntended, until it has quota
    *_number("evictions", "preemptions"),
    *_perhaps("finished_us"),
    *_text("outcome"),  # of the finish
    *_perhaps("removed_us", "removed_seq"),
    *_perhaps("inactive_us"),  # since when its owner has spec.active at false; NULL: it is true
)
_index_what_lasts(workload, "workload", "removed_seq")

WAITS_BY_LENGTH = "report_wait_admitted"
"""The index by which SQLite reads percentiles of waits."""

wait = Table(
    "report_wait",
    metadata,
    _key("partition", Integer),
    _key("from_seq"),
    *_number("submitted_seq"),
    *_text("cluster", "workload", "namespace", "uid", "local_queue", "cluster_queue"),
    *_text("priority_class"),
    *_number("priority"),
    *_text("author"),
    *_number("from_us"),
    *_perhaps("not_before_us", "reserved_us", "to_us", "to_seq"),
    *_text("outcome", "reason"),  # admitted, evicted, …; the last reason it was held for
    *_number("times_pending"),
)
_index_what_lasts(wait, "workload", "to_seq")
Index(
    WAITS_BY_LENGTH,
    *(wait.c[name] for name in ("cluster", "cluster_queue", "local_queue", "namespace")),
    wait.c.priority_class,
    wait.c.to_us - wait.c.from_us,
    sqlite_where=wait.c.outcome == "admitted",
    info={"dialects": {"sqlite"}},
).ddl_if(dialect="sqlite")

holding = Table(
    "report_holding",
    metadata,
    _key("partition", Integer),
    _key("from_seq"),
    _key("podset", String),
    _key("flavor", String),
    _key("resource", String),
    *_number("reservation_seq", "submitted_seq"),
    *_text("cluster", "cluster_queue", "local_queue", "namespace", "workload", "uid"),
    *_text("author", "priority_class"),
    *_number("priority"),
    *_number("pods_assigned", "amount_assigned", "pods", "amount"),
    *_number("from_us"),
    *_perhaps("to_us", "to_seq"),
)
_index_what_lasts(holding, "workload", "to_seq")
Index("report_holding_reservation", holding.c.reservation_seq)
# Not by partition first: PostgreSQL, while it has no statistics, would take it for the key's index.
_ended = holding.c.to_us.is_not(None)
Index("report_holding_ended", holding.c.to_us, sqlite_where=_ended, postgresql_where=_ended)

usage = Table(
    "report_usage",
    metadata,
    _key("partition", Integer),
    _key("hour_us"),
    *_keys(*_USED, *_USER),
    _key("priority"),
    _key("cluster", String),
    *_sums("unit_seconds", "borrowed_seconds"),
    sqlite_with_rowid=False,
)
"""Usage of each hour, but for what is still held and began to count in the newest hour.

An hour that is over says what of it was borrowed: see ``store.reporting.hourly.closing``.
"""

usage_day = Table(
    "report_usage_day",
    metadata,
    _key("partition", Integer),
    _key("day_us"),
    *_keys(*_USED, *_USER, "cluster"),
    *_sums("unit_seconds", "borrowed_seconds"),
    sqlite_with_rowid=False,
)
"""Usage of each UTC day, of its hours that are over."""

quota_hour = Table(
    "report_quota_hour",
    metadata,
    _key("partition", Integer),
    _key("hour_us"),
    *_keys(*_USED),
    *_text("cohort"),  # the root of its cohort tree at the hour's end; empty: none
    *_sums("nominal", "used", "borrowed", "lent", "idle"),
    sqlite_with_rowid=False,
)
"""What became of each ClusterQueue's quota in each hour that is over."""

quota_level = Table(
    "report_quota_level",
    metadata,
    _key("partition", Integer),
    *_keys(*_USED),
    *_sums("used", "nominal", "lends"),  # base units
    *_sums("nominal_seconds", "used_seconds", "borrowed_seconds", "idle_seconds"),
    *_sums("lendable_seconds"),
    sqlite_with_rowid=False,
)
"""How much of each quota is used, and what that came to in the hour so far: up to a position."""

quota_position = Table(
    "report_quota_position", metadata, _key("partition", Integer), *_number("seq", "at_us")
)
"""How far ``report_quota_level`` goes: the event that it counts last, and up to when."""

quota = Table(
    "report_quota",
    metadata,
    _key("partition", Integer),
    _key("kind", String),  # ClusterQueue or Cohort
    _key("owner", String),
    _key("flavor", String),
    _key("resource", String),
    _key("from_seq"),
    *_number("nominal"),
    *_perhaps("borrowing_limit", "lending_limit"),  # NULL: no limit
    *_text("author"),
    *_number("from_us"),
    *_perhaps("to_us", "to_seq"),
    *_text("ended_by"),  # the author of its change or removal
)

_index_what_lasts(quota, "owner", "to_seq")

budget = Table(
    "report_budget",
    metadata,
    _key("partition", Integer),
    _key("kind", String),  # ClusterQueue or Cohort
    _key("owner", String),
    _key("resource", String),
    _key("from_seq"),
    *_text("period"),  # day, week or month
    *_number("hours"),  # base units times hours
    Column("hard", Boolean, nullable=False),
    *_text("author"),
    *_number("since_us", "until_us"),  # of the period: from when it is counted, where it ends
    *_perhaps("to_us", "to_seq"),  # when the budget changed, or the period was recorded as over
    *_perhaps("spent"),  # in a period that is over
)

_index_what_lasts(budget, "owner", "to_seq")

queue = Table(
    "report_queue",
    metadata,
    _key("partition", Integer),
    _key("kind", String),  # ClusterQueue, Cohort or LocalQueue
    _key("owner", String),  # a LocalQueue: "<namespace>/<name>"
    _key("from_seq"),
    *_text("parent"),  # a ClusterQueue's cohort, a Cohort's parent, a LocalQueue's ClusterQueue
    *_number("weight"),
    *_text("strategy", "stop_policy", "author"),
    *_number("from_us"),
    *_perhaps("to_us", "to_seq"),
)

_index_what_lasts(queue, "owner", "to_seq")

preemption = Table(
    "report_preemption",
    metadata,
    _key("partition", Integer),
    _key("seq"),
    *_number("at_us"),
    *_text("cluster", "workload", "uid", "namespace", "local_queue", "cluster_queue", "author"),
    *_number("priority"),
    *_text("by", "by_uid", "by_cluster_queue", "reason", "message"),
    *_perhaps("intent_seq", "reservation_seq", "admitted_us", "released_us", "released_seq"),
)
_index_what_lasts(preemption, "workload", "released_seq")

priority_class = Table(
    "report_priority_class",
    metadata,
    _key("partition", Integer),
    _key("kind", String),  # WorkloadPriorityClass, PriorityClass, or gate: a feature gate, 0 or 1
    _key("name", String),
    *_number("value"),
    Column("is_default", Boolean, nullable=False),
    Column("defined", Boolean, nullable=False),  # false: removed
)

price = Table(
    "report_price",
    metadata,
    _key("partition", Integer),
    _key("flavor", String),
    _key("resource", String),
    _key("priority_class", String),  # empty: of all classes that have none of their own
    _key("quota", String),  # own, borrowed, or empty: either
    _key("from_seq"),
    _key("written_from", String),  # the day that was written, or empty
    _key("day_from", String),  # the UTC day from which it counts
    Column("per_unit_hour", Double, nullable=False),  # of one core, byte, device for an hour
    *_text("currency", "written_until", "author"),  # the day that was written, or empty
    *_number("from_us"),
    Column("day_until", String),  # the UTC day from which it counts no more; NULL: not known yet
    *_perhaps("to_us", "to_seq"),  # when it was changed or taken away
    *_text("ended_by"),
)
"""What chargeback multiplies with. A day that is over keeps the price that it had."""
