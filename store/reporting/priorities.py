"""What priority a workload has: its own, its class's, or the cluster's default."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, assert_never

from store.reporting.rows import PriorityClassRow, WorkloadRow
from store.reporting.unit_of_work import Place, UnitOfWork
from tidegate.contracts import facts

WORKLOAD_CLASS, POD_CLASS, GATE = "WorkloadPriorityClass", "PriorityClass", "gate"
BOOST = "PriorityBoost"
"""The feature gate without which a boost counts for nothing."""

Taken: TypeAlias = (
    facts.WorkloadPriorityClassDefined
    | facts.WorkloadPriorityClassRemoved
    | facts.PriorityClassDefined
    | facts.PriorityClassRemoved
    | facts.PolicyConfigured
)


def take(sheet: UnitOfWork, at: Place, event: Taken) -> None:
    """Record what a class is worth; workloads that name it follow, and keep it if it goes."""
    match event:
        case facts.WorkloadPriorityClassDefined():
            _set(sheet, at, WORKLOAD_CLASS, event.name, event.value)
            _resolve(sheet, lambda row: row.priority_class == event.name)
        case facts.PriorityClassDefined():
            _set(sheet, at, POD_CLASS, event.name, event.value).is_default = event.is_default
            named = {event.name, ""}
            _resolve(sheet, lambda row: not row.priority_class and row.pod_priority_class in named)
        case facts.WorkloadPriorityClassRemoved():
            _remove(sheet, WORKLOAD_CLASS, event.name)
        case facts.PriorityClassRemoved():
            _remove(sheet, POD_CLASS, event.name)
        case facts.PolicyConfigured():
            _set(sheet, at, GATE, BOOST, int(event.policy.gates.get(BOOST, False)))
        case _:
            assert_never(event)


def priority_of(sheet: UnitOfWork, row: WorkloadRow) -> int:
    """Return a workload's priority, its boost included.

    Source: behaviour.md 15.2 and 0, as in ``tidegate.core.queueing.priorities``; a class that does
    not exist leaves the priority as it was.
    """
    gate = _find(sheet, GATE, BOOST)
    boost = row.priority_boost if gate is not None and gate.value else 0
    if row.own_priority is not None:
        return row.own_priority + boost
    if row.priority_class or row.pod_priority_class:
        kind = WORKLOAD_CLASS if row.priority_class else POD_CLASS
        named = _find(sheet, kind, row.priority_class or row.pod_priority_class)
        return row.priority if named is None else named.value + boost
    defaults = [each.value for each in sheet.worth.values() if each.is_default and each.defined]
    return min(defaults, default=0) + boost


def _resolve(sheet: UnitOfWork, concerned: Callable[[WorkloadRow], bool]) -> None:
    for row in sheet.live.values():
        if row.phase != "finished" and concerned(row):
            row.priority = priority_of(sheet, row)


def _set(sheet: UnitOfWork, at: Place, kind: str, name: str, value: int) -> PriorityClassRow:
    row = sheet.worth.get((kind, name))
    if row is None:
        new = PriorityClassRow(partition=at.partition, kind=kind, name=name, value=value)
        row = sheet.worth[kind, name] = sheet.classes.add(new)
    row.value, row.defined = value, True
    return row


def _remove(sheet: UnitOfWork, kind: str, name: str) -> None:
    if (row := sheet.worth.get((kind, name))) is not None:
        row.defined = False


def _find(sheet: UnitOfWork, kind: str, name: str) -> PriorityClassRow | None:
    row = sheet.worth.get((kind, name))
    return row if row is not None and row.defined else None
