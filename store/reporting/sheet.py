"""What one turn's events touch of the reporting tables, by the names that events use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec
from sqlalchemy import Connection, or_

from store.reporting import rows, tables
from store.reporting.shelf import Shelf
from tidegate.contracts import facts
from tidegate.contracts.decisions import DecisionEvent

Told: TypeAlias = facts.FactEvent | DecisionEvent
OwnerKind: TypeAlias = Literal["ClusterQueue", "Cohort", "LocalQueue"]
Owner: TypeAlias = tuple[OwnerKind, str]


class Place(msgspec.Struct, frozen=True):
    """Where an event stands in the ledger."""

    partition: int
    seq: int
    at_us: int
    cluster: str


class Sheet:
    """The live and open rows of what a turn names, and the shelves that will write them."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.workloads = Shelf(tables.workload, rows.WorkloadRow)
        self.waits = Shelf(tables.wait, rows.WaitRow)
        self.holdings = Shelf(tables.holding, rows.HoldingRow)
        self.preemptions = Shelf(tables.preemption, rows.PreemptionRow)
        self.quotas = Shelf(tables.quota, rows.QuotaRow)
        self.queues = Shelf(tables.queue, rows.QueueRow)
        self.classes = Shelf(tables.priority_class, rows.PriorityClassRow)
        self.live = dict[str, rows.WorkloadRow]()
        self.waiting = dict[str, rows.WaitRow]()
        self.held = dict[str, list[rows.HoldingRow]]()
        self.leaving = dict[str, list[rows.PreemptionRow]]()
        self.granted = dict[Owner, list[rows.QuotaRow]]()
        self.standing = dict[Owner, rows.QueueRow]()
        self.worth = dict[tuple[str, str], rows.PriorityClassRow]()
        self.intents = dict[str, int]()  # preemptor to the seq of what it intends, in this turn

    def load(self, conn: Connection, told: Iterable[Told]) -> None:
        """Read the rows that these events may change."""
        events = list(told)
        named = sorted({name for event in events if (name := getattr(event, "workload", ""))})
        classes = sorted({event.name for event in events if isinstance(event, _CLASS)})
        if named or classes:
            self._load_workloads(conn, named, classes)
        if named:
            self._load_open(conn, named)
        if classes or any(isinstance(event, _PRICED) for event in events):
            self._load_classes(conn)
        if owners := sorted({owner for event in events if (owner := owner_of(event))}):
            self._load_owners(conn, owners)

    def write(self, conn: Connection) -> None:
        """Write every shelf."""
        self.workloads.write(conn)
        self.waits.write(conn)
        self.holdings.write(conn)
        self.preemptions.write(conn)
        self.quotas.write(conn)
        self.queues.write(conn)
        self.classes.write(conn)

    def _load_workloads(self, conn: Connection, named: list[str], classes: list[str]) -> None:
        table = tables.workload.c
        wanted = or_(table.workload.in_(named), table.priority_class.in_(classes))
        live = (table.partition == self.partition) & table.removed_seq.is_(None)
        self.workloads.load(conn, live & (wanted if classes else table.workload.in_(named)))
        self.live = {row.workload: row for row in self.workloads}

    def _load_open(self, conn: Connection, named: list[str]) -> None:
        for shelf, table, ended in (
            (self.waits, tables.wait, "to_seq"),
            (self.holdings, tables.holding, "to_seq"),
            (self.preemptions, tables.preemption, "released_seq"),
        ):
            ours = (table.c.partition == self.partition) & table.c.workload.in_(named)
            shelf.load(conn, ours & table.c[ended].is_(None))
        self.waiting = {row.workload: row for row in self.waits}
        for holding in self.holdings:
            self.held.setdefault(holding.workload, []).append(holding)
        for preemption in self.preemptions:
            self.leaving.setdefault(preemption.workload, []).append(preemption)

    def _load_classes(self, conn: Connection) -> None:
        self.classes.load(conn, tables.priority_class.c.partition == self.partition)
        self.worth = {(row.kind, row.name): row for row in self.classes}

    def _load_owners(self, conn: Connection, owners: list[Owner]) -> None:
        names = [name for _, name in owners]
        for shelf, table in ((self.quotas, tables.quota), (self.queues, tables.queue)):
            ours = (table.c.partition == self.partition) & table.c.owner.in_(names)
            shelf.load(conn, ours & table.c.to_seq.is_(None))
        for quota in self.quotas:
            self.granted.setdefault(owner_key(quota), []).append(quota)
        self.standing = {owner_key(queue): queue for queue in self.queues}


def owner_of(event: Told) -> Owner | None:
    """Return the queue or cohort that an event defines or removes."""
    match event:
        case facts.ClusterQueueDefined() | facts.ClusterQueueRemoved():
            return "ClusterQueue", event.name
        case facts.CohortDefined() | facts.CohortRemoved():
            return "Cohort", event.name
        case facts.LocalQueueDefined() | facts.LocalQueueRemoved():
            return "LocalQueue", f"{event.namespace}/{event.name}"
        case _:
            return None


def owner_key(row: rows.QuotaRow | rows.QueueRow) -> Owner:
    """Return whose row it is."""
    match row.kind:
        case "ClusterQueue" | "Cohort" | "LocalQueue":
            return row.kind, row.owner
        case other:
            raise AssertionError(f"no owner is of kind {other!r}")


_CLASS = (
    facts.WorkloadPriorityClassDefined,
    facts.PriorityClassDefined,
)
_PRICED = (facts.WorkloadSubmitted, facts.WorkloadChanged)
