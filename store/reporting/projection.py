"""From a turn's entries to the reporting tables, within the transaction that appends them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, TypeAlias, get_args

from sqlalchemy import Connection, delete

from store.reporting import intervals, prices, queue_order, quotas, tables, workloads
from store.reporting.hourly import Position, add_levels, close_hours, hour_begin
from store.reporting.unit_of_work import EventPosition, LedgerEvent, UnitOfWork
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import DecisionEvent, VariantCreated, VariantDeleted
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import FactEvent, WorkloadRemoved

Projector: TypeAlias = Callable[[UnitOfWork, EventPosition, Any], None]
_PlacedEvent: TypeAlias = tuple[EventPosition, LedgerEvent]
PART_EVENTS = 2_048
"""After so many events the levels of quota are summed up: so much has an hour's end left to do."""


def _types(union: object) -> tuple[type[Any], ...]:
    types = get_args(union)
    assert types, "a projector takes a union of event types"
    return types


PROJECTORS: tuple[tuple[Projector, tuple[type[Any], ...]], ...] = (
    (quotas.apply_definition, _types(quotas.Projected)),
    (prices.apply_price, _types(prices.Projected)),
    (workloads.apply_priority_class, _types(workloads.ProjectedClass)),
    (workloads.apply_workload_event, _types(workloads.Projected)),  # before those that copy its row
    (queue_order.apply_queue_order, _types(queue_order.Projected)),
    (intervals.apply_wait, _types(intervals.ProjectedWait)),
    (intervals.apply_holding, _types(intervals.ProjectedHolding)),
    (intervals.apply_preemption, _types(intervals.ProjectedPreemption)),
)
"""The projectors of each event, in this order; each sees the rows changed by the ones before it."""


def _by_type() -> dict[type[Any], tuple[Projector, ...]]:
    every = (*get_args(FactEvent), *get_args(DecisionEvent))
    return {
        kind: takers
        for kind in every
        if (takers := tuple(take for take, kinds in PROJECTORS if kind in kinds))
    }


_TAKERS = _by_type()
TAKEN = frozenset(str(kind.__struct_config__.tag).partition("/")[0] for kind in _TAKERS)
"""The types that any report depends on; the rest is not even decoded."""

REPORTS = (
    tables.workload,
    tables.wait,
    tables.holding,
    tables.usage,
    tables.usage_day,
    tables.quota_hour,
    tables.quota_level,
    tables.quota_position,
    tables.quota,
    tables.budget,
    tables.price,
    tables.queue,
    tables.preemption,
    tables.priority_class,
)
"""What is made from events and can be made again."""


def project(conn: Connection, entries: Sequence[Entry], since_us: int) -> None:
    """Bring the reporting tables up to the last of these entries; they are of one partition.

    There is at least one. ``since_us`` is the time of the entry before them, or of the first if
    there is none.
    """
    partition, reached = entries[0].partition, Position(entries[0].seq - 1, since_us)
    for _, same in groupby(entries, _hour_and_partition):
        part = list(same)
        until = Position(part[-1].seq, part[-1].at_us)
        if hour_begin(reached.at_us) != hour_begin(until.at_us):
            close_hours(conn, partition, reached, until.at_us)
        reached = until
        if batch := _placed_events(part):
            unit = UnitOfWork(partition)
            unit.load(conn, (event for _, event in batch))
            for place, event in batch:
                _apply(unit, place, event)
            unit.write(conn)
        if not until.seq % PART_EVENTS:
            add_levels(conn, partition, until)


def clear(conn: Connection, partition: int) -> None:
    """Empty the reporting tables of one partition."""
    for table in REPORTS:
        conn.execute(delete(table).where(table.c.partition == partition))


def rebuild(conn: Connection, partition: int, pages: Iterable[Sequence[Entry]]) -> None:
    """Make the reporting tables again from all entries, given in order and in pages."""
    clear(conn, partition)
    since_us = None
    for page in pages:
        project(conn, page, page[0].at_us if since_us is None else since_us)
        since_us = page[-1].at_us


def _hour_and_partition(entry: Entry) -> tuple[int, int]:
    """Return the hour of an entry, and the part of the ledger.

    Parts end where the ledger's numbers say, so that a rebuild has the same ones.
    """
    return hour_begin(entry.at_us), (entry.seq - 1) // PART_EVENTS


def _placed_events(entries: Sequence[Entry]) -> list[_PlacedEvent]:
    return [
        (_position_of(entry), event)
        for entry in entries
        if entry.type in TAKEN
        for event in _expand_variant(decode(entry.payload))
    ]


def _expand_variant(event: LedgerEvent) -> tuple[LedgerEvent, ...]:
    """Return an event, and what it means for a variant that it makes or drops."""
    match event:
        case VariantCreated():
            return event, event.submission
        case VariantDeleted():
            gone = WorkloadRemoved(at_us=event.at_us, workload=event.workload, uid=event.uid)
            return gone, event
        case _:
            return (event,)


def _apply(unit: UnitOfWork, place: EventPosition, event: LedgerEvent) -> None:
    for take in _TAKERS[type(event)]:
        take(unit, place, event)


def _position_of(entry: Entry) -> EventPosition:
    return EventPosition(entry.partition, entry.seq, entry.at_us, entry.cluster)
