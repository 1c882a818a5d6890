"""Which workloads are to be looked at: each once, and by one worker at a time."""

from __future__ import annotations

import asyncio


class Queue:
    """Keys in the order in which they came; one that is worked on waits until that is done."""

    def __init__(self) -> None:
        self._due = dict[str, int]()  # to how often it was tried
        self._busy = set[str]()
        self._news = asyncio.Event()

    def add(self, key: str, tries: int = 0) -> None:
        """Have a workload looked at; a new reason counts as no try."""
        self._due[key] = min(tries, self._due.get(key, tries))
        self._news.set()

    async def take(self) -> tuple[str, int]:
        """Return the next one that nobody works on, and how often it was tried."""
        while True:
            for key, tries in self._due.items():
                if key not in self._busy:
                    del self._due[key]
                    self._busy.add(key)
                    return key, tries
            self._news.clear()
            await self._news.wait()

    def finish(self, key: str) -> None:
        """Let others work on a workload again."""
        self._busy.discard(key)
        self._news.set()
