"""A workload's priority: its own, its class's, or the cluster's default."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, assert_never

from store.reporting.rows import PriorityClassRow, WorkloadRow
from store.reporting.unit_of_work import Place, UnitOfWork
from tidegate.contracts import facts

WORKLOAD_CLASS, POD_CLASS, GATE = "WorkloadPriorityClass", "PriorityClass", "gate"
BOOST = "PriorityBoost"
"""The feature gate without which a boost is ignored."""

Projected: TypeAlias = (
    facts.WorkloadPriorityClassDefined
    | facts.WorkloadPriorityClassRemoved
    | facts.PriorityClassDefined
    | facts.PriorityClassRemoved
    | facts.PolicyConfigured
)


def take(unit: UnitOfWork, at: Place, event: Projected) -> None:
    """Record what a class is worth; workloads that name it follow, and keep it if it goes."""
    match event:
        case facts.WorkloadPriorityClassDefined():
            _set(unit, at, WORKLOAD_CLASS, event.name, event.value)
            _resolve(unit, lambda row: row.priority_class == event.name)
        case facts.PriorityClassDefined():
            _set(unit, at, POD_CLASS, event.name, event.value).is_default = event.is_default
            named = {event.name, ""}
            _resolve(unit, lambda row: not row.priority_class and row.pod_priority_class in named)
        case facts.WorkloadPriorityClassRemoved():
            _remove(unit, WORKLOAD_CLASS, event.name)
        case facts.PriorityClassRemoved():
            _remove(unit, POD_CLASS, event.name)
        case facts.PolicyConfigured():
            _set(unit, at, GATE, BOOST, int(event.policy.gates.get(BOOST, False)))
        case _:
            assert_never(event)


def priority_of(unit: UnitOfWork, row: WorkloadRow) -> int:
    """Return a workload's priority, its boost included.

    Source: behaviour.md 15.2 and 0, as in ``tidegate.core.queueing.quota_ops``; a class that does
    not exist leaves the priority as it was.
    """
    gate = _find(unit, GATE, BOOST)
    boost = row.priority_boost if gate is not None and gate.value else 0
    if row.own_priority is not None:
        return row.own_priority + boost
    if row.priority_class or row.pod_priority_class:
        kind = WORKLOAD_CLASS if row.priority_class else POD_CLASS
        named = _find(unit, kind, row.priority_class or row.pod_priority_class)
        return row.priority if named is None else named.value + boost
    defaults = [each.value for each in unit.worth.values() if each.is_default and each.defined]
    return min(defaults, default=0) + boost


def _resolve(unit: UnitOfWork, concerned: Callable[[WorkloadRow], bool]) -> None:
    for row in unit.live.values():
        if row.phase != "finished" and concerned(row):
            row.priority = priority_of(unit, row)


def _set(unit: UnitOfWork, at: Place, kind: str, name: str, value: int) -> PriorityClassRow:
    row = unit.worth.get((kind, name))
    if row is None:
        new = PriorityClassRow(partition=at.partition, kind=kind, name=name, value=value)
        row = unit.worth[kind, name] = unit.classes.add(new)
    row.value, row.defined = value, True
    return row


def _remove(unit: UnitOfWork, kind: str, name: str) -> None:
    if (row := unit.worth.get((kind, name))) is not None:
        row.defined = False


def _find(unit: UnitOfWork, kind: str, name: str) -> PriorityClassRow | None:
    row = unit.worth.get((kind, name))
    return row if row is not None and row.defined else None
