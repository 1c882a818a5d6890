"""``tidegate show priority``: what a workload's priority is made of."""

from __future__ import annotations

from typing import Any

import typer

from tidegate.cli.ledger.name_lookup import WithinOption, WorkloadArgument, draft_of, workload_of
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, open_reader
from tidegate.cli.output import Output, OutputOption, print_record
from tidegate.core.state.state import State, Workload
from tidegate.model.gates import gate


def priority(
    name: WorkloadArgument,
    namespace: WithinOption = "",
    *,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Take a workload's priority apart: where it comes from, its value, and its boost.

    The first word is one of FromWorkload, FromWorkloadPriorityClass, FromPriorityClass,
    FromDefaultPriorityClass, ClassMissing and NoClass.

    Examples:
      tidegate show priority job/train

      tidegate show priority job/train -n team-a -o json
    """
    with open_reader(ledger, as_of, reports=False) as reader:
        state = draft_of(reader)
        found = workload_of(reader, state, f"{namespace}/{name}" if namespace else name)
    record = _parts(state, found)
    if output in {Output.TABLE, Output.WIDE}:
        typer.echo(f"{record['reason']}: {found.key} has priority {found.priority}.")
    print_record(record, output, name="workload")


def _parts(state: State, found: Workload) -> dict[str, Any]:
    reason, named = _source(state, found)
    counts = gate(state.policy, "PriorityBoost")
    boost = found.priority_boost if counts else 0
    return {
        "reason": reason,
        "workload": found.key,
        "priority": found.priority,
        "value": found.priority - boost,
        "class": named,
        "boost": found.priority_boost,
        "boostCounts": counts,
        "neverPreempts": found.never_preempts,
    }


def _source(state: State, found: Workload) -> tuple[str, str]:
    """Return the reason code, and the class by which it goes."""
    objects = state.objects
    if found.own_priority is not None:
        return "FromWorkload", found.priority_class or found.pod_priority_class
    if found.priority_class:
        there = found.priority_class in objects.workload_priority_classes
        return ("FromWorkloadPriorityClass" if there else "ClassMissing"), found.priority_class
    if found.pod_priority_class:
        there = found.pod_priority_class in objects.priority_classes
        return ("FromPriorityClass" if there else "ClassMissing"), found.pod_priority_class
    defaults = [one for one in objects.priority_classes.values() if one.is_default]
    if defaults:
        lowest = min(defaults, key=lambda one: (one.value, one.name))
        return "FromDefaultPriorityClass", lowest.name
    return "NoClass", ""
