"""The rows of the reporting tables that one turn's events change, found by workload and name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import msgspec
from sqlalchemy import ColumnElement, Connection, String, bindparam

from store.reporting import rows, tables
from store.reporting.hourly import HourlyUsage
from store.reporting.row_set import RowSet, TableMapping
from store.statements.compiled import RowQuery
from store.views.expressions import one_of, unindexed
from tidegate.contracts import facts
from tidegate.contracts.decision_kinds.queues import BudgetRenewed
from tidegate.contracts.decisions import (
    DecisionEvent,
    VariantCreated,
    VariantDeleted,
    WorkloadEvicted,
    WorkloadPreempted,
)
from tidegate.contracts.queue_order import PODS_READY_TIMEOUT, RECLAIM_WHILE_BORROWING

LedgerEvent: TypeAlias = facts.FactEvent | DecisionEvent
OwnerKind: TypeAlias = Literal["ClusterQueue", "Cohort", "LocalQueue"]
Owner: TypeAlias = tuple[OwnerKind, str]


class EventPosition(msgspec.Struct, frozen=True):
    """An event's place in the ledger."""

    partition: int
    seq: int
    at_us: int
    cluster: str


_WORKLOAD = TableMapping(tables.workload, rows.WorkloadRow)
_WAIT = TableMapping(tables.wait, rows.WaitRow)
_HOLDING = TableMapping(tables.holding, rows.HoldingRow)
_PREEMPTION = TableMapping(tables.preemption, rows.PreemptionRow)
_QUOTA = TableMapping(tables.quota, rows.QuotaRow)
_BUDGET = TableMapping(tables.budget, rows.BudgetRow)
_PRICE = TableMapping(tables.price, rows.PriceRow)
_QUEUE = TableMapping(tables.queue, rows.QueueRow)
_CLASS = TableMapping(tables.priority_class, rows.PriorityClassRow)


def _select_open(
    kind: TableMapping[Any], by: str, ended: str, *more: ColumnElement[bool]
) -> RowQuery:
    """Return the statement that reads what has not ended of the named workloads or owners."""
    column = kind.table.c
    named = one_of(column[by], bindparam("named", type_=String()))
    return kind.select(_is_of_partition(kind), named, column[ended].is_(None), *more)


def _is_of_partition(kind: TableMapping[Any]) -> ColumnElement[bool]:
    # By the index of what lasts, not by the key's.
    return unindexed(kind.table.c.partition) == bindparam("partition")


_LIVE = _select_open(_WORKLOAD, "workload", "removed_seq")
_OF_CLASS = _select_open(_WORKLOAD, "priority_class", "removed_seq")
_OF_POD_CLASS = _select_open(
    _WORKLOAD, "pod_priority_class", "removed_seq", tables.workload.c.priority_class == ""
)
_TIMED_OUT = _select_open(_WORKLOAD, "evicted_reason", "removed_seq")
_PREEMPTED = _select_open(_WORKLOAD, "preempted_reason", "removed_seq")
_WAITING = _select_open(_WAIT, "workload", "to_seq")
_HELD = _select_open(_HOLDING, "workload", "to_seq")
_LEAVING = _select_open(_PREEMPTION, "workload", "released_seq")
_GRANTED = _select_open(_QUOTA, "owner", "to_seq")
_BUDGETED = _select_open(_BUDGET, "owner", "to_seq")
_PRICED = _PRICE.select(
    _is_of_partition(_PRICE), one_of(_PRICE.table.c.flavor, bindparam("named", type_=String()))
)
_STANDING = _select_open(_QUEUE, "owner", "to_seq")
_CLASSES = _CLASS.select(_is_of_partition(_CLASS))


class UnitOfWork:
    """The live and open rows of what a turn names, and the shelves that will write them."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.workloads, self.waits = RowSet(_WORKLOAD), RowSet(_WAIT)
        self.holdings, self.preemptions = RowSet(_HOLDING), RowSet(_PREEMPTION)
        self.quotas, self.queues, self.classes = RowSet(_QUOTA), RowSet(_QUEUE), RowSet(_CLASS)
        self.budgets, self.prices = RowSet(_BUDGET), RowSet(_PRICE)
        self.usage = HourlyUsage()
        self.live_workloads = dict[str, rows.WorkloadRow]()
        self.open_waits = dict[str, rows.WaitRow]()
        self.open_holdings = dict[str, list[rows.HoldingRow]]()
        self.open_preemptions = dict[str, list[rows.PreemptionRow]]()
        self.open_quotas = dict[Owner, list[rows.QuotaRow]]()
        self.open_budgets = dict[Owner, list[rows.BudgetRow]]()
        self.open_prices = dict[str, list[rows.PriceRow]]()  # by flavor, those that ended, too
        self.open_queues = dict[Owner, rows.QueueRow]()
        self.priority_values = dict[tuple[str, str], rows.PriorityClassRow]()

    def load(self, conn: Connection, loaded: Iterable[LedgerEvent]) -> None:
        """Read the rows that these events may change."""
        events = list(loaded)
        if named := sorted(workloads_named(events)):
            self._load_workloads(conn, named)
        if any(isinstance(event, _PRIORITY) for event in events):
            self._load_classes(conn, events)
        if owners := sorted({owner[1] for event in events if (owner := owner_of(event))}):
            self._load_owners(conn, owners)
        if flavors := sorted({event.name for event in events if isinstance(event, _FLAVOR)}):
            self.prices.load(conn, _PRICED, self._parameters(flavors))
            for price in self.prices:
                self.open_prices.setdefault(price.flavor, []).append(price)

    def write(self, conn: Connection) -> None:
        """Write all changed and new rows."""
        self.workloads.write(conn)
        self.waits.write(conn)
        self.holdings.write(conn)
        self.usage.write(conn)
        self.preemptions.write(conn)
        self.quotas.write(conn)
        self.budgets.write(conn)
        self.prices.write(conn)
        self.queues.write(conn)
        self.classes.write(conn)

    def _load_workloads(self, conn: Connection, named: list[str]) -> None:
        parameters = self._parameters(named)
        self.workloads.load(conn, _LIVE, parameters)
        self.waits.load(conn, _WAITING, parameters)
        self.holdings.load(conn, _HELD, parameters)
        self.preemptions.load(conn, _LEAVING, parameters)
        self.live_workloads = {row.workload: row for row in self.workloads}
        self.open_waits = {row.workload: row for row in self.waits}
        for holding in self.holdings:
            self.open_holdings.setdefault(holding.workload, []).append(holding)
        for preemption in self.preemptions:
            self.open_preemptions.setdefault(preemption.workload, []).append(preemption)

    def _load_classes(self, conn: Connection, events: list[LedgerEvent]) -> None:
        """Read priority classes' values, and the workloads that a class's new value reaches."""
        self.classes.load(conn, _CLASSES, self._parameters())
        self.priority_values = {(row.kind, row.name): row for row in self.classes}
        following = RowSet(_WORKLOAD)
        for reading, kind, more in _FOLLOWING:
            if named := [event.name for event in events if isinstance(event, kind)]:
                following.load(conn, reading, self._parameters([*named, *more]))
        if any(isinstance(event, facts.PolicyConfigured) for event in events):
            following.load(conn, _PREEMPTED, self._parameters([RECLAIM_WHILE_BORROWING]))
            following.load(conn, _TIMED_OUT, self._parameters([PODS_READY_TIMEOUT]))
        if rest := sorted({row.workload for row in following} - self.live_workloads.keys()):
            self.workloads.load(conn, _LIVE, self._parameters(rest))
            self.live_workloads = {row.workload: row for row in self.workloads}

    def _load_owners(self, conn: Connection, named: list[str]) -> None:
        self.quotas.load(conn, _GRANTED, self._parameters(named))
        self.queues.load(conn, _STANDING, self._parameters(named))
        self.budgets.load(conn, _BUDGETED, self._parameters(named))
        for quota in self.quotas:
            self.open_quotas.setdefault(owner_key(quota), []).append(quota)
        for budget in self.budgets:
            self.open_budgets.setdefault(owner_key(budget), []).append(budget)
        self.open_queues = {owner_key(queue): queue for queue in self.queues}

    def _parameters(self, named: list[str] | None = None) -> dict[str, Any]:
        parameters: dict[str, Any] = {"partition": self.partition}
        return (
            parameters
            if named is None
            else parameters | {"named": msgspec.json.encode(named).decode()}
        )


def workloads_named(events: Iterable[LedgerEvent]) -> set[str]:
    """Return the workloads that events name."""
    named = set[str]()
    for event in events:
        named.add(getattr(event, "workload", ""))
        if field := _OTHER.get(type(event)):
            named.add(getattr(event, field))
    return named - {""}


def owner_of(event: LedgerEvent) -> Owner | None:
    """Return the queue or cohort that an event defines or removes, or whose budget it renews."""
    match event:
        case facts.ClusterQueueDefined() | facts.ClusterQueueRemoved():
            return "ClusterQueue", event.name
        case facts.CohortDefined() | facts.CohortRemoved():
            return "Cohort", event.name
        case BudgetRenewed():
            if event.cluster_queue:
                return "ClusterQueue", event.cluster_queue
            return "Cohort", event.cohort
        case facts.LocalQueueDefined() | facts.LocalQueueRemoved():
            return "LocalQueue", f"{event.namespace}/{event.name}"
        case _:
            return None


def owner_key(row: rows.QuotaRow | rows.QueueRow | rows.BudgetRow) -> Owner:
    """Return the owner of the row."""
    match row.kind:
        case "ClusterQueue" | "Cohort" | "LocalQueue":
            return row.kind, row.owner
        case other:
            raise AssertionError(f"no owner is of kind {other!r}")


_FOLLOWING = (
    (_OF_CLASS, facts.WorkloadPriorityClassDefined, ()),
    (_OF_POD_CLASS, facts.PriorityClassDefined, ("",)),  # without a class: the default's value
)
_OTHER: dict[type, str] = {
    WorkloadPreempted: "by",
    VariantCreated: "parent",
    VariantDeleted: "parent",
}
"""Event type to the field that names a workload beside the event's own."""
_FLAVOR = (facts.FlavorDefined, facts.FlavorRemoved)
_PRIORITY = (
    facts.WorkloadPriorityClassDefined,
    facts.WorkloadPriorityClassRemoved,
    facts.PriorityClassDefined,
    facts.PriorityClassRemoved,
    facts.PolicyConfigured,
    facts.WorkloadSubmitted,
    facts.WorkloadChanged,
    WorkloadEvicted,
    WorkloadPreempted,
)
"""Events for which priority classes' values are read, or settings that are kept beside them."""
