"""Cancellation that the library loses: up to Python 3.11 ``asyncio.wait_for`` passes over it.

The library does so where the awaited result comes in the same turn of the loop. A task that was
asked to end would go on then, and a caller that waits for its end would wait for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def preserve_cancellation() -> Generator[None]:
    """End a block with the cancellation that came while it ran, even if the block returned.

    Raises:
        asyncio.CancelledError: the task was cancelled, and the block went on.
    """
    task = asyncio.current_task()
    assert task is not None, "only a task can be cancelled"
    before = task.cancelling()
    yield
    if task.cancelling() > before:
        raise asyncio.CancelledError
