"""What takes long in a terminal: progress on standard error after two seconds, and Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_S = 2.0
STEP = 1_000

Item = TypeVar("Item")


def with_progress(items: Iterable[Item], title: str, total: int | None) -> Iterator[Item]:
    """Yield the items; show how far they got once it has taken longer than two seconds.

    Shows nothing where standard error is no terminal.
    """
    with progress_counter(title, total, STEP) as tick:
        for item in items:
            yield item
            tick()


@contextmanager
def progress_counter(
    title: str, total: int | None = None, step: int = 1
) -> Generator[Callable[[], None]]:
    """Lend what is to be called at each step; show how many once it has taken two seconds."""
    begun, count, terminal = time.monotonic(), 0, sys.stderr.isatty()
    display: tuple[Progress, TaskID] | None = None

    def tick() -> None:
        nonlocal count, display
        count += 1
        if not terminal or count % step:
            return
        if display is None and time.monotonic() - begun > PATIENCE_S:
            display = _start_bar(title, total)
        if display is not None:
            display[0].update(display[1], completed=count)

    try:
        yield tick
    finally:
        if display is not None:
            display[0].stop()


@contextmanager
def announce_wait(text: str) -> Generator[None]:
    """Say on standard error what is waited for, once the block has taken two seconds."""
    timer = threading.Timer(PATIENCE_S, print, (text,), {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _start_bar(title: str, total: int | None) -> tuple[Progress, TaskID]:
    from rich import progress  # noqa: PLC0415 - to import it takes longer than most commands
    from rich.console import Console  # noqa: PLC0415

    bar = progress.Progress(
        progress.TextColumn(title),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.start()
    return bar, bar.add_task(title, total=total)


@contextmanager
def until_interrupted() -> Generator[None]:
    """Run a block until SIGINT, which ends it without an error.

    A shell starts what it runs in the background with SIGINT ignored, and Python then installs no
    handler of its own: without this such a command would never end.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGINT, before)
