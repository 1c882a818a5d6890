"""Tasks that wait for work: each new item wakes one of them, not all."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress


class Waiters:
    """Tasks that wait, the one that waits longest first."""

    def __init__(self) -> None:
        self._futures = deque[asyncio.Future[None]]()

    def __len__(self) -> int:
        """Return how many tasks wait."""
        return len(self._futures)

    async def wait(self) -> None:
        """Wait until this task is woken."""
        future = asyncio.get_running_loop().create_future()
        self._futures.append(future)
        try:
            await future
        except asyncio.CancelledError:
            with suppress(ValueError):  # it was woken at the same time
                self._futures.remove(future)
            raise

    def wake(self) -> None:
        """Wake one task; one that was cancelled meanwhile does not count."""
        while self._futures:
            future = self._futures.popleft()
            if not future.done():
                future.set_result(None)
                return

    def wake_all(self) -> None:
        """Wake every task that waits."""
        while self._futures:
            self.wake()
