"""``tidegate show workloads``: pending, admitted and finished workloads."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import typer

from tidegate.cli.ledger.name_lookup import require_known_name
from tidegate.cli.ledger.partitions import PartitionOption
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, Reader, open_reader
from tidegate.cli.output import Column, Output, OutputOption, print_records
from tidegate.cli.times import utc
from tidegate.core.state.state import Workload
from tidegate.model.ids import UNSATISFIED_CHECKS

_WorkloadRows: TypeAlias = tuple[list[dict[str, Any]], list[str]]
"""Records of workloads, and the names of the ClusterQueues that there are."""
PHASES = ("pending", "reserved", "admitted", "evicting", "inactive", "finished")
_NONE = "There is no such workload."
_COLORS = {"admitted": "green", "evicting": "magenta", "pending": "yellow"}
_COLUMNS = (
    Column("WORKLOAD", "workload"),
    Column("JOB", "job"),
    Column("PHASE", "phase", colour=_COLORS.get),
    Column("QUEUE", "clusterQueue"),
    Column("LOCAL QUEUE", "localQueue", wide=True),
    Column("PRIORITY", "priority", right=True),
    Column("AUTHOR", "author", wide=True),
    Column("SINCE", "since"),
    Column("REASON", "reason"),
)


def workloads(  # noqa: PLR0913 - each is an option
    queue: Annotated[str, typer.Argument(help="Only workloads of this ClusterQueue.")] = "",
    *,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Only this namespace.")] = "",
    phase: Annotated[
        str, typer.Option(help=f"Only these phases, separated by commas: {', '.join(PHASES)}.")
    ] = "",
    with_ended: Annotated[
        bool,
        typer.Option(
            "--all",
            "-a",
            help="Also list inactive and finished workloads; reads the whole ledger.",
        ),
    ] = False,
    partition: PartitionOption = None,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List workloads that wait or hold quota; with --all also inactive and finished ones.

    Examples:
      tidegate show workloads

      tidegate show workloads team-a --phase pending -o name

      tidegate show workloads --all --as-of 2026-03-02T09:00:00Z -o wide
    """
    phases = _parse_phases(phase)
    folds = with_ended or not phases <= {"pending", "reserved", "admitted", "evicting"}
    with open_reader(ledger, as_of, partition, reports=not folds) as reader:
        results_by_partition = [
            _rows_from_state(each) if folds else _rows_from_reports(each)
            for each in reader.partition_readers()
        ]
    records = [record for rows, _ in results_by_partition for record in rows]
    if queue:
        queues = (name for _, names in results_by_partition for name in names)
        require_known_name(queue, (*queues, *(record["clusterQueue"] for record in records)))
    results = [
        record
        for record in sorted(
            records, key=lambda record: (record["clusterQueue"], record["workload"])
        )
        if queue in {"", record["clusterQueue"]}
        and namespace in {"", record["namespace"]}
        and (not phases or record["phase"] in phases)
    ]
    nothing = _NONE if folds else f"{_NONE} --all also lists inactive and finished ones."
    print_records(results, _COLUMNS, output, name="workload", nothing=nothing)


def _parse_phases(text: str) -> set[str]:
    phases = set(filter(None, text.split(",")))
    if unknown := sorted(phases.difference(PHASES)):
        raise typer.BadParameter(
            f"--phase {', '.join(unknown)}: the phases are {', '.join(PHASES)}."
        )
    return phases


def _rows_from_reports(reader: Reader) -> _WorkloadRows:
    queued = {row["workload"]: row for row in reader.report("queue_now")}
    waiting = [
        _report_record(row, "pending", row["since"], row)
        for row in queued.values()
        if row["phase"] == "pending"
    ]
    holding = {row["workload"]: row for row in reader.report("admitted_now")}
    with_quota = [
        _report_record(
            row,
            row["phase"],
            row["admitted_at"] or row["reserved_at"],
            queued.get(row["workload"], {}),
        )
        for row in holding.values()
    ]
    return waiting + with_quota, [row["cluster_queue"] for row in reader.report("queues")]


def _report_record(
    row: dict[str, Any], phase: str, since: str, pending: dict[str, Any]
) -> dict[str, Any]:
    return {
        "workload": row["workload"],
        "namespace": row["namespace"],
        "job": f"{row['job_kind']}/{row['job_name']}",
        "phase": phase,
        "clusterQueue": row["cluster_queue"],
        "localQueue": row["local_queue"],
        "priority": row["priority"],
        "priorityClass": row["priority_class"],
        "author": row["author"],
        "since": since,
        "reason": pending.get("reason", ""),
    }


def _rows_from_state(reader: Reader) -> _WorkloadRows:
    state = reader.state()
    return [_state_record(workload) for workload in state.workloads.values()], list(
        state.objects.cluster_queues
    )


def _state_record(workload: Workload) -> dict[str, Any]:
    since_us = {
        "reserved": workload.reserved_us,
        "admitted": workload.admitted_us,
        "evicting": workload.admitted_us or workload.reserved_us,
        "finished": workload.finished_us,
    }.get(workload.phase, workload.evicted_us or workload.created_us)
    reasons = {
        "pending": workload.pending_status.reason if workload.pending_status is not None else "",
        "reserved": UNSATISFIED_CHECKS,
        "inactive": workload.deactivated_cause,
    }
    return {
        "workload": workload.key,
        "namespace": workload.key.partition("/")[0],
        "job": f"{workload.job.kind}/{workload.job.name}",
        "phase": workload.phase,
        "clusterQueue": workload.cluster_queue,
        "localQueue": workload.queue,
        "priority": workload.priority,
        "priorityClass": workload.priority_class,
        "author": workload.author,
        "since": utc(since_us) if since_us else None,
        "reason": reasons.get(workload.phase, ""),
    }
