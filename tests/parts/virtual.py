"""An event loop whose clock jumps to the next deadline as soon as no task has anything to do.

Ten minutes of waiting take no time, and what happens does not depend on how fast the machine is.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Jumping(selectors.DefaultSelector):
    """Never sleeps: time in which every task waits is skipped."""

    deaf = False  # no descriptor is ever ready, so none is asked

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> Any:  # noqa: ANN401 - the library's own type
        pairs = [] if self.deaf else super().select(0)
        if not pairs:
            assert timeout is not None, "every task waits, and no deadline will ever wake one"
            self.now_s += max(timeout, 0.0)
        return pairs


class VirtualLoop(asyncio.SelectorEventLoop):
    """Tells the time that was skipped to."""

    def __init__(self, *, deaf: bool = False) -> None:
        self._jumping = Jumping()
        self._jumping.deaf = deaf
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return seconds since the loop was made."""
        return self._jumping.now_s


def run_virtually(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end on a loop of its own."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
