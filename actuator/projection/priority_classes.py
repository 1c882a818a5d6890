"""The values of priority classes, which Workloads show beside a class's name."""

from __future__ import annotations

from typing import TypeAlias

from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.fact_kinds.definitions import (
    PriorityClassDefined,
    PriorityClassRemoved,
    WorkloadPriorityClassDefined,
    WorkloadPriorityClassRemoved,
)
from tidegate.contracts.facts import FactEvent

Values: TypeAlias = dict[tuple[str, str], int]
"""By kind of class and name."""


def apply_class_event(values: Values, event: FactEvent | DecisionEvent) -> str:
    """Take in an event; return the name of the class that it is about, empty: of none.

    A Workload whose class is gone keeps the value that it shows.
    """
    match event:
        case PriorityClassDefined() | WorkloadPriorityClassDefined():
            values[type(event).__name__.removesuffix("Defined"), event.name] = event.value
            return event.name
        case PriorityClassRemoved() | WorkloadPriorityClassRemoved():
            values.pop((type(event).__name__.removesuffix("Removed"), event.name), None)
            return event.name
        case _:
            return ""
