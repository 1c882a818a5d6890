"""``tidegate show queues`` and ``tidegate show pending``: ClusterQueues and their workloads."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Annotated, Any, TypeAlias

import typer

from tidegate.cli.commands.show.positions import pending_rows
from tidegate.cli.ledger.name_lookup import require_known_queue
from tidegate.cli.ledger.partitions import PartitionOption, merge_rows
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, Reader, open_reader
from tidegate.cli.output import Column, Output, OutputOption, print_records
from tidegate.cli.times import duration_text

Row: TypeAlias = dict[str, Any]

_LIST = (
    Column("NAME", "name"),
    Column("COHORT", "cohort"),
    Column("STRATEGY", "strategy", wide=True),
    Column("STOP POLICY", "stopPolicy", wide=True),
    Column("STOPPED", "stoppedAt", wide=True),
    Column("BY", "stoppedBy", wide=True),
    Column("PENDING", "pending", right=True),
    Column("RESERVING", "reserving", right=True, wide=True),
    Column("ADMITTED", "admitted", right=True),
    Column("LONGEST WAIT", "longestWaitSeconds", right=True, show=duration_text),
    Column("HEAD", "head"),
    Column("REASON", "reason"),
)
_PENDING = (
    Column("QUEUE", "clusterQueue"),
    Column("POSITION", "position", right=True),
    Column("WORKLOAD", "workload"),
    Column("JOB", "job", wide=True),
    Column("LOCAL QUEUE", "localQueue", wide=True),
    Column("PRIORITY", "priority", right=True),
    Column("WAITED", "waitedSeconds", right=True, show=duration_text),
    Column("REASON", "reason"),
    Column("MESSAGE", "message", wide=True),
)


def list_queues(
    partition: PartitionOption = None,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List ClusterQueues with their pending and admitted workloads, and why the first one waits.

    Examples:
      tidegate show queues

      tidegate show queues -o wide
    """
    with open_reader(ledger, as_of, partition) as reader:
        records = merge_rows(reader, queue_records, itemgetter("name"))
    print_records(records, _LIST, output, nothing="The ledger knows no ClusterQueue.")


def pending(  # noqa: PLR0913 - each is an option
    queue: Annotated[str, typer.Argument(help="Only this ClusterQueue.")] = "",
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Only this namespace.")] = "",
    *,
    partition: PartitionOption = None,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List pending workloads in queue order, with the reason of each.

    A workload that is gated, whose LocalQueue is stopped, or that has quota and waits for admission
    checks has no position.

    Examples:
      tidegate show pending

      tidegate show pending team-a -o wide

      tidegate show pending -n a -o name
    """
    with open_reader(ledger, as_of, partition) as reader:
        require_known_queue(reader, queue)
        rows = merge_rows(reader, pending_rows, itemgetter("cluster_queue"))
    records = [
        row
        for row in map(_pending_record, rows)
        if queue in {"", row["clusterQueue"]} and namespace in {"", row["namespace"]}
    ]
    print_records(records, _PENDING, output, name="workload", nothing="No workload waits.")


def queue_records(reader: Reader) -> list[dict[str, Any]]:
    """Return each ClusterQueue with how many wait and run, and why the first one waits."""
    waiting = pending_rows(reader)
    phases = {
        (row["cluster_queue"], row["workload"]): row["phase"]
        for row in reader.report("admitted_now")
    }
    count = Counter((queue, phase) for (queue, _), phase in phases.items())
    return queue_summary_rows(reader.report("queues"), waiting, count)


def queue_summary_rows(
    queues: Iterable[Row], waiting: Iterable[Row], holding: Mapping[tuple[str, str], int]
) -> list[dict[str, Any]]:
    """Return each ClusterQueue with how many wait and run, and why the first one waits.

    ``queues`` has the columns of the report of that name, ``waiting`` those of ``pending_rows``;
    ``holding`` is how many workloads of a ClusterQueue and a phase have quota.
    """
    by_queue = defaultdict[str, list[Row]](list)
    for row in waiting:
        by_queue[row["cluster_queue"]].append(row)
    records = list[dict[str, Any]]()
    for row in queues:
        name = row["cluster_queue"]
        mine = by_queue[name]
        head = min(mine, key=_head_key, default=None)
        records.append(
            {
                "name": name,
                "cohort": row["cohort"],
                "strategy": row["strategy"],
                "stopPolicy": row["stop_policy"],
                "stoppedAt": row["stopped_at"],
                "stoppedBy": row["stopped_by"],
                "pending": sum(workload["phase"] == "pending" for workload in mine),
                "reserving": holding.get((name, "reserved"), 0),
                "admitted": holding.get((name, "admitted"), 0) + holding.get((name, "evicting"), 0),
                "longestWaitSeconds": max(
                    (workload["waited_s"] for workload in mine), default=None
                ),
                "head": head and head["workload"],
                "reason": head and head["reason"],
            }
        )
    return records


def _head_key(row: Row) -> tuple[bool, bool, int]:
    """Return a sort key: of workloads without position, those with quota come last."""
    return row["phase"] == "reserved", row["position"] is None, row["position"] or 0


def _pending_record(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "clusterQueue": row["cluster_queue"],
        "position": row["position"],
        "workload": row["workload"],
        "namespace": row["namespace"],
        "job": f"{row['job_kind']}/{row['job_name']}",
        "localQueue": row["local_queue"],
        "author": row["author"],
        "priorityClass": row["priority_class"],
        "priority": row["priority"],
        "since": row["since"],
        "waitedSeconds": row["waited_s"],
        "notBefore": row["not_before"],
        "reason": row["reason"],
        "message": row["message"],
    }
