"""What priority a workload had: its own, its class's, or the cluster's default."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from store.reporting.rows import PriorityClassRow, WorkloadRow
from store.reporting.sheet import Place, Sheet
from tidegate.contracts import facts

WORKLOAD_CLASS, POD_CLASS = "WorkloadPriorityClass", "PriorityClass"

Taken: TypeAlias = facts.WorkloadPriorityClassDefined | facts.PriorityClassDefined
"""A class that is removed leaves its value behind: workloads keep what they had."""


def take(sheet: Sheet, at: Place, event: Taken) -> None:
    """Record what a class is worth; a WorkloadPriorityClass passes its value on to its own."""
    match event:
        case facts.WorkloadPriorityClassDefined():
            _set(sheet, at, WORKLOAD_CLASS, event.name, event.value)
            for row in sheet.live.values():
                if row.priority_class == event.name:
                    row.priority = event.value + row.priority_boost
        case facts.PriorityClassDefined():
            _set(sheet, at, POD_CLASS, event.name, event.value).is_default = event.is_default
        case _:
            assert_never(event)


def priority_of(sheet: Sheet, row: WorkloadRow) -> int:
    """Return a workload's priority, its boost included.

    Source: behaviour of Kueue's job reconciler: the WorkloadPriorityClass, else the workload's own
    value, else the pods' PriorityClass, else the default class of the lowest value, else 0.
    """
    named = sheet.worth.get((WORKLOAD_CLASS, row.priority_class))
    if named is not None and row.priority_class:
        return named.value + row.priority_boost
    if row.own_priority is not None:
        return row.own_priority + row.priority_boost
    pods = sheet.worth.get((POD_CLASS, row.pod_priority_class))
    if pods is not None and row.pod_priority_class:
        return pods.value + row.priority_boost
    defaults = [row.value for row in sheet.worth.values() if row.is_default]
    return min(defaults, default=0) + row.priority_boost


def _set(sheet: Sheet, at: Place, kind: str, name: str, value: int) -> PriorityClassRow:
    row = sheet.worth.get((kind, name))
    if row is None:
        new = PriorityClassRow(partition=at.partition, kind=kind, name=name, value=value)
        row = sheet.worth[kind, name] = sheet.classes.add(new)
    row.value = value
    return row
