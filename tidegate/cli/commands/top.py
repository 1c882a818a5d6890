"""``tidegate top``: the queues, the cohorts and what happens, live."""

from __future__ import annotations

import time
from collections import deque
from itertools import islice
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from tidegate.cli.interrupts import until_interrupted
from tidegate.cli.ledger.name_lookup import SubjectArgument, node_of
from tidegate.cli.ledger.reading import LedgerOption, Reader, open_reader
from tidegate.cli.live.follow import Follower, Received
from tidegate.cli.live.top_view import EVENTS, frame
from tidegate.contracts.codec import decode
from tidegate.errors import NotSupportedError

_PIPE_WIDTH = 160


def top(
    subject: SubjectArgument = "",
    *,
    once: Annotated[bool, typer.Option("--once", help="Print the view once and exit.")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two updates.")] = 1.0,
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
    with open_reader(ledger, reports=False) as reader:
        follower = Follower(reader.ledger, reader.state())
        newest = deque(reversed(_newest(reader)), maxlen=EVENTS)
        node = node_of(reader, follower.state, subject)
        if once:
            wide = console if console.is_terminal else Console(width=_PIPE_WIDTH)
            with wide.capture() as drawn:
                wide.print(frame(follower.state, tuple(newest), node))
            typer.echo("\n".join(line.rstrip() for line in drawn.get().splitlines()))
            return
        with until_interrupted():
            _go_on(follower, newest, node, every, console)


def _newest(reader: Reader) -> list[Received]:
    """Return the newest events, the last first."""
    entries = islice(reader.ledger.back(reader.end, EVENTS), EVENTS)
    return [(entry, decode(entry.payload)) for entry in entries]


def _go_on(
    follower: Follower, newest: deque[Received], node: str, every: float, console: Console
) -> None:
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(frame(follower.state, tuple(newest), node), refresh=True)
            time.sleep(every)
            newest += follower.poll()
