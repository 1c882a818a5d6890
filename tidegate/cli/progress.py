"""A progress bar on standard error for whatever takes longer than two seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
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
    with counted(what, total, STEP) as tick:
        for item in items:
            yield item
            tick()


@contextmanager
def counted(what: str, total: int | None = None, step: int = 1) -> Generator[Callable[[], None]]:
    """Lend what is to be called at each step; show how many once it has taken two seconds."""
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
    begun, count, shown = time.monotonic(), 0, False

    def tick() -> None:
        nonlocal count, shown
        count += 1
        if count % step:
            return
        if not shown and console.is_terminal and time.monotonic() - begun > PATIENCE_S:
            bar.start()
            shown = True
        bar.update(task, completed=count)

    try:
        yield tick
    finally:
        if shown:
            bar.stop()
