"""``tidegate show priority``: what a workload's priority is made of."""

from __future__ import annotations

from typing import Any

import typer

from tidegate.cli.ledger.name_lookup import WithinOption, WorkloadArgument, find_workload
from tidegate.cli.ledger.partitions import PartitionOption
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, open_reader
from tidegate.cli.output import Output, OutputOption, print_record
from tidegate.core.state.state import State, Workload
from tidegate.model.gates import gate_enabled


def priority(  # noqa: PLR0913 - each is an option
    name: WorkloadArgument,
    namespace: WithinOption = "",
    *,
    partition: PartitionOption = None,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the source, the value and the boost of a workload's priority.

    The first word is one of FromWorkload, FromWorkloadPriorityClass, FromPriorityClass,
    FromDefaultPriorityClass, ClassMissing and NoClass.

    Examples:
      tidegate show priority job/train

      tidegate show priority job/train -n team-a -o json
    """
    with open_reader(ledger, as_of, partition, reports=False) as reader:
        state, workload = find_workload(reader, f"{namespace}/{name}" if namespace else name)
    record = _priority_record(state, workload)
    if output in {Output.TABLE, Output.WIDE}:
        typer.echo(f"{record['reason']}: {workload.key} has priority {workload.priority}.")
    print_record(record, output, name="workload")


def _priority_record(state: State, workload: Workload) -> dict[str, Any]:
    reason, named = _priority_source(state, workload)
    counts = gate_enabled(state.policy, "PriorityBoost")
    boost = workload.priority_boost if counts else 0
    return {
        "reason": reason,
        "workload": workload.key,
        "priority": workload.priority,
        "value": workload.priority - boost,
        "class": named,
        "boost": workload.priority_boost,
        "boostCounts": counts,
        "neverPreempts": workload.never_preempts,
    }


def _priority_source(state: State, workload: Workload) -> tuple[str, str]:
    """Return the reason code, and the class by which it goes."""
    objects = state.objects
    if workload.own_priority is not None:
        return "FromWorkload", workload.priority_class or workload.pod_priority_class
    if workload.priority_class:
        exists = workload.priority_class in objects.workload_priority_classes
        return ("FromWorkloadPriorityClass" if exists else "ClassMissing"), workload.priority_class
    if workload.pod_priority_class:
        exists = workload.pod_priority_class in objects.priority_classes
        return ("FromPriorityClass" if exists else "ClassMissing"), workload.pod_priority_class
    defaults = [
        priority_class
        for priority_class in objects.priority_classes.values()
        if priority_class.is_default
    ]
    if defaults:
        lowest = min(
            defaults, key=lambda priority_class: (priority_class.value, priority_class.name)
        )
        return "FromDefaultPriorityClass", lowest.name
    return "NoClass", ""
