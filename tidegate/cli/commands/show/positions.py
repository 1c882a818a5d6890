"""``tidegate show positions``: pending workloads in order, and when each might start."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tidegate.cli.ledger.name_lookup import find_workload_key, require_known_queue
from tidegate.cli.ledger.partitions import PartitionOption, merge_rows
from tidegate.cli.ledger.reader import lag_us
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, Reader, open_reader
from tidegate.cli.output import Column, Output, OutputOption, print_message, print_records
from tidegate.cli.times import duration_text, utc

if TYPE_CHECKING:
    from tidegate.replay.simulator.forecast import RuntimeHistory, Start

Row: TypeAlias = dict[str, Any]

SECOND_US = 1_000_000
NEVER = ("ExceedsMaxQuota", "NoMatchingFlavor", "Misconfigured", "Suspended")
"""Reasons that no place in a queue cures: for these nothing is estimated."""
WINDOW = 5_000
"""So many of the newest events say how long jobs run."""


def _start_range(start: Row) -> str:
    if start["to"] is None:
        return f"{start['from']} or later"
    return f"{start['from']} to {start['to']}" if start["to"] > start["from"] else start["from"]


_COLUMNS = (
    Column("REASON", "reason"),
    Column("POSITION", "position", right=True),
    Column("IN LOCAL QUEUE", "positionInLocalQueue", right=True),
    Column("WORKLOAD", "workload"),
    Column("QUEUE", "clusterQueue"),
    Column("LOCAL QUEUE", "localQueue", wide=True),
    Column("PRIORITY", "priority", right=True),
    Column("WAITED", "waitedSeconds", right=True, show=duration_text),
    Column("MIGHT START", "mightStart", show=_start_range),
    Column("AHEAD", "ahead", wide=True, show=", ".join),
)


def positions(  # noqa: PLR0913 - each is an option
    subject: Annotated[
        str,
        typer.Argument(
            help="Only this ClusterQueue, LocalQueue or workload; default: all.",
            metavar="[QUEUE|LOCALQUEUE|job/NAME]",
        ),
    ] = "",
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Only this namespace.")] = "",
    *,
    partition: PartitionOption = None,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the positions of pending workloads in their ClusterQueue and LocalQueue.

    Positions are those of Kueue's visibility API, but from 1: a workload that is gated, whose
    LocalQueue is stopped, or that has quota and waits for admission checks has none. The first
    column is the reason for waiting, or NotTried if the workload has not been tried yet.
    MIGHT START is a range: the scheduler's own code simulates the future twice, with the lower and
    with the upper quartile of the run times of recently finished jobs (of the same LocalQueue if
    possible). The simulation assumes that no further job is submitted, and that jobs without known
    run times run on. `tidegate why-not` prints what a workload waits for; `tidegate what-if load`
    simulates other queues.

    Examples:
      tidegate show positions

      tidegate show positions main -n team-a

      tidegate show positions job/train -o wide
    """
    with open_reader(ledger, as_of, partition) as reader:
        key = find_workload_key(reader, subject) if "/" in subject else ""
        rows = merge_rows(reader, position_rows, itemgetter("clusterQueue"))
        if not key and subject not in {"", *(row["localQueue"] for row in rows)}:
            require_known_queue(reader, subject)
        selected = [
            row
            for row in rows
            if key in {"", row["workload"]}
            and (key or subject in {"", row["clusterQueue"], row["localQueue"]})
            and namespace in {"", row["namespace"]}
        ]
        starts = _expected_starts(reader, startable_queues(selected))
    listed = [with_start(row, starts) for row in selected]
    print_records(listed, _COLUMNS, output, name="workload", nothing=_nothing_text(subject))
    if output in {Output.TABLE, Output.WIDE} and any(row["mightStart"] for row in listed):
        print_message(_ASSUMED)


_ASSUMED = (
    "MIGHT START: if jobs run as long as the quartiles of those that ended of late, and no "
    "other job is submitted."
)


def startable_queues(rows: Iterable[Row]) -> frozenset[str]:
    """Return the ClusterQueues in which some of these rows might start."""
    return frozenset(row["clusterQueue"] for row in rows if _may_start(row))


def with_start(row: Row, starts: Mapping[str, Start]) -> Row:
    """Return a row with when its workload might start: None where nothing tells."""
    start = starts.get(row["workload"]) if _may_start(row) else None
    estimate = (
        None
        if start is None
        else {
            "from": utc(start.from_us),
            "to": None if start.to_us is None else utc(start.to_us),
        }
    )
    return {**row, "mightStart": estimate}


def observed_run_times(reader: Reader) -> RuntimeHistory:
    """Return the run times of jobs that ended among a ledger's newest events."""
    from tidegate.replay.simulator.forecast import runtime_history  # noqa: PLC0415 - loads the core

    return runtime_history(reader.ledger.read(max(0, reader.end - WINDOW), reader.end))


def _may_start(row: Row) -> bool:
    return row["position"] is not None and row["reason"] not in NEVER


def _expected_starts(reader: Reader, queues: Collection[str]) -> Mapping[str, Start]:
    """Return when workloads might start that wait in some ClusterQueues."""
    if not queues:
        return {}
    from tidegate.replay.simulator.forecast import forecast  # noqa: PLC0415 - loads the core

    starts: dict[str, Start] = {}
    for each in reader.partition_readers():
        state = each.state()
        if asked_queues := state.objects.cluster_queues.keys() & queues:
            now_us = state.now_us + lag_us(each)
            starts.update(forecast(state, observed_run_times(each), now_us, asked_queues).starts())
    return starts


def _nothing_text(subject: str) -> str:
    return f"NotWaiting: {subject} waits for nothing." if subject else "No workload waits."


def position_rows(reader: Reader) -> list[Row]:
    """Return the positions of pending workloads, by ClusterQueue.

    Raises:
        NotSupportedError: more wait than the reader may hold.
    """
    return ranked_rows(pending_rows(reader), 0)


def pending_rows(reader: Reader) -> list[Row]:
    """Return the rows of the report ``queue_now`` by position; on a live ledger up to now.

    Raises:
        NotSupportedError: more wait than the reader may hold.
    """
    from tidegate.replay.queue_order import positions as places_of  # noqa: PLC0415 - loads the core

    rows, lag_s = reader.report("queue_now"), lag_us(reader) // SECOND_US
    place = places_of(reader.state())
    placed = [
        {**row, "position": place.get(row["workload"]), "waited_s": row["waited_s"] + lag_s}
        for row in rows
    ]
    return sorted(placed, key=lambda row: (row["cluster_queue"], *_position_key(row)))


def ranked_rows(waiting: Iterable[Row], behind_us: int, named_max: int | None = None) -> list[Row]:
    """Return the positions of workloads, by ClusterQueue.

    ``waiting`` has the columns of ``pending_rows``, ``behind_us`` how much later than the ledger's
    newest event it is. Of those ahead at most ``named_max`` are named, the first ones.
    """
    ahead, local = defaultdict[str, list[str]](list), defaultdict[tuple[str, str], int](int)
    placed = list[Row]()
    for row in sorted(waiting, key=_position_key):
        queue, door = row["cluster_queue"], (row["namespace"], row["local_queue"])
        is_queued = row["position"] is not None
        local[door] += is_queued
        placed.append(
            {
                "reason": row["reason"] or "NotTried",
                "position": row["position"],
                "positionInLocalQueue": local[door] if is_queued else None,
                "workload": row["workload"],
                "namespace": row["namespace"],
                "clusterQueue": queue,
                "localQueue": row["local_queue"],
                "priority": row["priority"],
                "waitedSeconds": row["waited_s"] + behind_us // SECOND_US,
                "ahead": list(ahead[queue]) if is_queued else [],
            }
        )
        if is_queued and (named_max is None or len(ahead[queue]) < named_max):
            ahead[queue].append(row["workload"])
    return sorted(placed, key=lambda row: (row["clusterQueue"], *_position_key(row)))


def _position_key(row: Row) -> tuple[bool, int, str]:
    """Return a sort key: rows without position, which no place in a queue helps, come last."""
    return row["position"] is None, row["position"] or 0, row["workload"]
