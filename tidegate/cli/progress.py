"""A progress bar on standard error for whatever takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

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
    begun, count, terminal = time.monotonic(), 0, sys.stderr.isatty()
    shown: tuple[Progress, TaskID] | None = None

    def tick() -> None:
        nonlocal count, shown
        count += 1
        if not terminal or count % step:
            return
        if shown is None and time.monotonic() - begun > PATIENCE_S:
            shown = _started(what, total)
        if shown is not None:
            shown[0].update(shown[1], completed=count)

    try:
        yield tick
    finally:
        if shown is not None:
            shown[0].stop()


def _started(what: str, total: int | None) -> tuple[Progress, TaskID]:
    from rich import progress  # noqa: PLC0415 - to import it takes longer than most commands
    from rich.console import Console  # noqa: PLC0415

    bar = progress.Progress(
        progress.TextColumn(what),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.start()
    return bar, bar.add_task(what, total=total)
