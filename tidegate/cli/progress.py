"""A progress bar on standard error for whatever takes longer than two seconds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

PATIENCE_S = 2.0
STEP = 1_000

Item = TypeVar("Item")


def watched(items: Iterable[Item], what: str, total: int | None) -> Iterator[Item]:
    """Yield the items; show how far they got once it has taken longer than two seconds.

    Shows nothing where standard error is no terminal.
    """
    console = Console(stderr=True)
    bar = Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task(what, total=total)
    begun, shown = time.monotonic(), False
    try:
        for count, item in enumerate(items, 1):
            yield item
            if count % STEP:
                continue
            if not shown and console.is_terminal and time.monotonic() - begun > PATIENCE_S:
                bar.start()
                shown = True
            bar.update(task, completed=count)
    finally:
        if shown:
            bar.stop()
