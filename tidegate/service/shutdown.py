"""The end of a process that was asked to stop, whatever its loop or its threads are doing.

A loop that is busy hears no signal, a task may swallow its cancellation, and a thread that waits
for a database cannot be stopped at all. So a timer beside all of them ends the process.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

SOFT = 0.8
"""The part of the drain time for tasks that end by themselves; the rest is for cancelled ones."""


class ShutdownTimer:
    """Ends this process some seconds after it was first asked to stop."""

    def __init__(self, name: str, drain_s: float) -> None:
        self._name, self._drain_s = name, drain_s
        self._timer: threading.Timer | None = None

    def start(self) -> None:
        """Begin to count; a second call changes nothing."""
        if self._timer is None:
            self._timer = threading.Timer(self._drain_s, self._exit_process)
            self._timer.daemon = True
            self._timer.start()

    def _exit_process(self) -> None:
        sys.stderr.write(f"{self._name}: did not end within {self._drain_s:g} s, and is ended.\n")
        sys.stderr.flush()
        os._exit(1)


@contextmanager
def on_signals(callback: Callable[[], None]) -> Generator[None]:
    """Call ``callback`` at each SIGTERM and SIGINT until the block ends, in a busy loop, too."""

    def handle_signal(_number: int, _frame: FrameType | None) -> None:
        callback()

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, handle_signal) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
