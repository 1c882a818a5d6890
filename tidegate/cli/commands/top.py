"""``tidegate top``: the queues, the cohorts and what happens, live."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Annotated

import typer
from rich.console import Console, RenderableType
from rich.live import Live

from tidegate.cli.ledger.name_lookup import SubjectArgument, find_workload
from tidegate.cli.ledger.partitions import PartitionOption, time_order_key
from tidegate.cli.ledger.reading import LedgerOption, Reader, open_reader
from tidegate.cli.live.follow import FoldedEvent, LedgerFollower
from tidegate.cli.live.top_view import EVENTS, top_frame
from tidegate.cli.progress import until_interrupted
from tidegate.cli.times import finite
from tidegate.contracts.codec import decode
from tidegate.errors import NotSupportedError

_PIPE_WIDTH = 160


def top(
    subject: SubjectArgument = "",
    *,
    once: Annotated[bool, typer.Option("--once", help="Print the view once and exit.")] = False,
    every: Annotated[
        float, typer.Option(min=0.1, callback=finite, help="Seconds between two updates.")
    ] = 1.0,
    partition: PartitionOption = None,
    ledger: LedgerOption = "",
) -> None:
    """Show queues, cohort trees with quota bars, pending workloads and new events, live.

    In a bar, █ is used own quota, ▒ quota lent to others, ░ free quota, and ▓ quota borrowed from
    others. End it with Ctrl-C.

    Examples:
      tidegate top

      tidegate top job/train --every 5

      tidegate top --once | less
    """
    console = Console()
    if not once and not console.is_terminal:
        raise NotSupportedError("Standard output is no terminal: give --once for a single frame.")
    with open_reader(ledger, partition=partition, reports=False) as reader:
        followers, node = _open_followers(reader, subject)
        newest = deque(_newest_events(reader), maxlen=EVENTS)
        if once:
            wide = console if console.is_terminal else Console(width=_PIPE_WIDTH)
            with wide.capture() as drawn:
                wide.print(_current_frame(followers, newest, node))
            typer.echo("\n".join(line.rstrip() for line in drawn.get().splitlines()))
            return
        with until_interrupted():
            _refresh_until_interrupted(followers, newest, node, every, console)


def _open_followers(reader: Reader, subject: str) -> tuple[list[LedgerFollower], str]:
    """Return what follows each partition, and the node that a text means."""
    if "/" not in subject:
        return [
            LedgerFollower(each.ledger, each.state()) for each in reader.partition_readers()
        ], subject
    state, workload = find_workload(reader, subject)
    ledger = next(
        each.ledger for each in reader.partition_readers() if each.partition == state.partition
    )
    return [LedgerFollower(ledger, state)], workload.cluster_queue


def _newest_events(reader: Reader) -> list[FoldedEvent]:
    """Return the newest events of all partitions, in order."""
    back = (
        islice(each.ledger.back(each.end, EVENTS), EVENTS) for each in reader.partition_readers()
    )
    entries = sorted((entry for part in back for entry in part), key=time_order_key)
    return [(entry, decode(entry.payload)) for entry in entries[-EVENTS:]]


def _current_frame(
    followers: Sequence[LedgerFollower], newest: deque[FoldedEvent], node: str
) -> RenderableType:
    return top_frame([follower.state for follower in followers], tuple(newest), node)


def _refresh_until_interrupted(
    followers: Sequence[LedgerFollower],
    newest: deque[FoldedEvent],
    node: str,
    every: float,
    console: Console,
) -> None:
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(_current_frame(followers, newest, node), refresh=True)
            time.sleep(every)
            received = (each for follower in followers for each in follower.poll())
            newest += sorted(received, key=lambda each: time_order_key(each[0]))
