"""``tidegate show positions``: who is ahead of whom, and when each might start."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tidegate.cli.ledger.lag import lag_us
from tidegate.cli.ledger.name_lookup import find, known_queue
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, Reader, open_reader
from tidegate.cli.output import Column, Output, OutputOption, print_records, say
from tidegate.cli.times import parse_utc, span, utc

if TYPE_CHECKING:
    from tidegate.replay.simulator.forecast import Start

Row: TypeAlias = dict[str, Any]

RECENT, SECOND_US = 20, 1_000_000
"""So many admissions of a ClusterQueue give its pace."""
NEVER = ("ExceedsMaxQuota", "NoMatchingFlavor", "Misconfigured", "Suspended")
"""Reasons that no place in a queue cures: for these nothing is estimated."""
WINDOW = 20_000
"""So many of the newest events say how long jobs run."""


def _range(start: Row) -> str:
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
    Column("WAITED", "waitedSeconds", right=True, show=span),
    Column("MIGHT START", "mightStart", show=_range),
    Column("AHEAD", "ahead", wide=True, show=", ".join),
)


def positions(
    subject: Annotated[
        str,
        typer.Argument(
            help="Only of this ClusterQueue, LocalQueue or workload; default: all.",
            metavar="[QUEUE|LOCALQUEUE|job/NAME]",
        ),
    ] = "",
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Only this namespace.")] = "",
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show where workloads stand: in the ClusterQueue, in their LocalQueue, and who is ahead.

    The first word is the reason why each waits; NotTried if its turn has not come yet. When one
    might start is played out from now by the scheduler's own rules, once with short run times and
    once with long ones: the lower and upper quartile of the jobs that ended of late, of its
    LocalQueue if some did. Nobody else is submitted meanwhile, and what nothing is known of runs
    on. `tidegate why-not` says what one waits for, and `tidegate simulate` plays other queues.

    Examples:
      tidegate show positions

      tidegate show positions main -n team-a

      tidegate show positions job/train -o wide
    """
    with open_reader(ledger, as_of) as reader:
        key = find(reader, subject) if "/" in subject else ""
        rows = position_rows(reader, {})
        starts = _starts(reader) if any(map(_may_start, rows)) else {}
        if not key and subject not in {"", *(row["localQueue"] for row in rows)}:
            known_queue(reader, subject)
    selected = [
        _with_start(row, starts)
        for row in rows
        if key in {"", row["workload"]}
        and (key or subject in {"", row["clusterQueue"], row["localQueue"]})
        and namespace in {"", row["namespace"]}
    ]
    print_records(selected, _COLUMNS, output, name="workload", nothing=_nothing(subject))
    if output in {Output.TABLE, Output.WIDE} and any(row["mightStart"] for row in selected):
        say(_ASSUMED)


_ASSUMED = (
    "MIGHT START: if jobs run as long as the quartiles of those that ended of late, and nobody "
    "else is submitted."
)


def _may_start(row: Row) -> bool:
    return row["position"] is not None and row["reason"] not in NEVER


def _starts(reader: Reader) -> Mapping[str, Start]:
    """Return when workloads might start that wait."""
    from tidegate.replay.simulator.forecast import forecast, ran  # noqa: PLC0415 - loads the core

    state = reader.state()
    running = ran(reader.ledger.read(max(0, reader.end - WINDOW), reader.end))
    return forecast(state, running, state.now_us + lag_us(reader))


def _with_start(row: Row, starts: Mapping[str, Start]) -> Row:
    start = starts.get(row["workload"]) if _may_start(row) else None
    forecast_row = (
        None
        if start is None
        else {
            "from": utc(start.from_us),
            "to": None if start.to_us is None else utc(start.to_us),
        }
    )
    return {name: value for name, value in row.items() if name != "estimatedStart"} | {
        "mightStart": forecast_row
    }


def _nothing(subject: str) -> str:
    return f"NotWaiting: {subject} waits for nothing." if subject else "Nobody waits."


def position_rows(
    reader: Reader,
    pace_of: Mapping[str, int] | None = None,
    *,
    queue: str = "",
    named_max: int | None = None,
) -> list[Row]:
    """Return where each workload stands that waits, by ClusterQueue and position.

    ``pace_of`` is what ``paces`` gives, where that is known already; ``queue`` the one ClusterQueue
    that is wanted; and of those ahead at most ``named_max`` are named, the first ones.

    Raises:
        NotSupportedError: more wait than the reader may hold.
    """
    pace_of = paces(reader.report("waits")) if pace_of is None else pace_of
    ahead, local = defaultdict[str, list[str]](list), defaultdict[tuple[str, str], int](int)
    rows = list[Row]()
    behind_us = lag_us(reader)
    newest = str(reader.info()["headAt"] or "") if reader.end else ""
    now = utc(parse_utc(newest) + behind_us) if newest else ""
    only = {"cluster_queue": queue} if queue else {}
    for row in sorted(reader.report("queue_now", only), key=_place):
        queue, door = row["cluster_queue"], (row["namespace"], row["local_queue"])
        is_queued = row["position"] is not None
        local[door] += is_queued
        pace = None if row["reason"] in NEVER or not is_queued else pace_of.get(queue)
        rows.append(
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
                "estimatedStart": _start(now, row["position"], pace),
            }
        )
        if is_queued and (named_max is None or len(ahead[queue]) < named_max):
            ahead[queue].append(row["workload"])
    return sorted(rows, key=lambda row: (row["clusterQueue"], *_place(row)))


def _place(row: Row) -> tuple[bool, int]:
    """Return where a row stands: those without position, who have quota, behind the others."""
    return row["position"] is None, row["position"] or 0


def _start(now: str, position: int, pace_us: int | None) -> str | None:
    return None if pace_us is None or not now else utc(parse_utc(now) + position * pace_us)


def paces(waits: list[Row]) -> dict[str, int]:
    """Return the mean microseconds between each ClusterQueue's last admissions."""
    times = defaultdict[str, list[int]](list)
    for row in waits:
        if row["outcome"] == "admitted" and row["to_at"]:
            times[row["cluster_queue"]].append(parse_utc(row["to_at"]))
    return mean_gaps({queue: sorted(times_of)[-RECENT:] for queue, times_of in times.items()})


def mean_gaps(times: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Return the mean distance between times that are in order; nothing of fewer than two."""
    return {
        queue: (times_of[-1] - times_of[0]) // (len(times_of) - 1)
        for queue, times_of in times.items()
        if len(times_of) > 1
    }
