"""``tidegate show positions``: who is ahead of whom, and when each might start."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

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
BY_PACE = ("estimatedStart", "earliestStart", "latestStart")
"""What a place in a queue says of a start, where nothing is played out."""
WINDOW = 5_000
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
    wanted = [
        _with_start(row, starts)
        for row in rows
        if key in {"", row["workload"]}
        and (key or subject in {"", row["clusterQueue"], row["localQueue"]})
        and namespace in {"", row["namespace"]}
    ]
    print_records(wanted, _COLUMNS, output, name="workload", nothing=_nothing(subject))
    if output in {Output.TABLE, Output.WIDE} and any(row["mightStart"] for row in wanted):
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
    known = ran(reader.ledger.read(max(0, reader.end - WINDOW), reader.end))
    return forecast(state, known, state.now_us + lag_us(reader))


def _with_start(row: Row, starts: Mapping[str, Start]) -> Row:
    start = starts.get(row["workload"]) if _may_start(row) else None
    told = (
        None
        if start is None
        else {
            "from": utc(start.from_us),
            "to": None if start.to_us is None else utc(start.to_us),
        }
    )
    return {name: value for name, value in row.items() if name not in BY_PACE} | {
        "mightStart": told
    }


def _nothing(subject: str) -> str:
    return f"NotWaiting: {subject} waits for nothing." if subject else "Nobody waits."


class Pace(NamedTuple):
    """Microseconds from one admission of a ClusterQueue to the next."""

    mean_us: int
    fast_us: int  # mean of the shorter half of these times
    slow_us: int  # mean of the longer half


class Clock(NamedTuple):
    """What waits are counted up to."""

    now_us: int  # 0: there is no event yet
    behind_us: int  # how much later than the newest event that is


def position_rows(reader: Reader, pace_of: Mapping[str, Pace] | None = None) -> list[Row]:
    """Return where each workload stands that waits, by ClusterQueue and position.

    ``pace_of`` is what ``paces`` gives, where that is known already.

    Raises:
        NotSupportedError: more wait than the reader may hold.
    """
    pace_of = paces(reader.report("waits")) if pace_of is None else pace_of
    return placed_rows(reader.report("queue_now"), pace_of, clock_of(reader))


def clock_of(reader: Reader) -> Clock:
    """Return what waits are counted up to: the clock of a live ledger, else its newest event."""
    behind_us = lag_us(reader)
    newest_us = next((entry.at_us for entry in reader.ledger.back(reader.end, 1)), 0)
    return Clock(newest_us // SECOND_US * SECOND_US + behind_us if newest_us else 0, behind_us)


def placed_rows(
    waiting: Iterable[Row],
    pace_of: Mapping[str, Pace],
    clock: Clock,
    named_max: int | None = None,
) -> list[Row]:
    """Return where each workload stands, by ClusterQueue and position.

    ``waiting`` has the columns of the report ``queue_now``; of those ahead at most ``named_max``
    are named, the first ones.
    """
    ahead, local = defaultdict[str, list[str]](list), defaultdict[tuple[str, str], int](int)
    placed = list[Row]()
    for row in sorted(waiting, key=_place):
        queue, door = row["cluster_queue"], (row["namespace"], row["local_queue"])
        is_queued = row["position"] is not None
        local[door] += is_queued
        hopeless = row["reason"] in NEVER or not is_queued
        pace = None if hopeless or not clock.now_us else pace_of.get(queue)
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
                "waitedSeconds": row["waited_s"] + clock.behind_us // SECOND_US,
                "ahead": list(ahead[queue]) if is_queued else [],
                **_by_pace(clock.now_us, row["position"], pace),
            }
        )
        if is_queued and (named_max is None or len(ahead[queue]) < named_max):
            ahead[queue].append(row["workload"])
    return sorted(placed, key=lambda row: (row["clusterQueue"], *_place(row)))


def _place(row: Row) -> tuple[bool, int]:
    """Return where a row stands: those without position, who have quota, behind the others."""
    return row["position"] is None, row["position"] or 0


def _by_pace(now_us: int, position: int, pace: Pace | None) -> dict[str, str | None]:
    """Return when a position might start: on average, at the earliest and at the latest."""
    if pace is None:
        return dict.fromkeys(BY_PACE)
    return {name: utc(now_us + position * each) for name, each in zip(BY_PACE, pace, strict=True)}


def paces(waits: list[Row]) -> dict[str, Pace]:
    """Return how fast each ClusterQueue's last admissions followed each other."""
    times = defaultdict[str, list[int]](list)
    for row in waits:
        if row["outcome"] == "admitted" and row["to_at"]:
            times[row["cluster_queue"]].append(parse_utc(row["to_at"]))
    return paces_of({queue: sorted(all_us)[-RECENT:] for queue, all_us in times.items()})


def paces_of(times: Mapping[str, Sequence[int]]) -> dict[str, Pace]:
    """Return the pace of times that are in order; nothing of fewer than two."""
    return {queue: _pace(all_us) for queue, all_us in times.items() if len(all_us) > 1}


def _pace(times: Sequence[int]) -> Pace:
    gaps = sorted(later - sooner for sooner, later in pairwise(times))
    half = (len(gaps) + 1) // 2
    return Pace(
        mean_us=(times[-1] - times[0]) // len(gaps),
        fast_us=sum(gaps[:half]) // half,
        slow_us=sum(gaps[-half:]) // half,
    )
