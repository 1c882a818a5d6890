"""How many requests of each person are under way: one must not take all threads from the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from http import HTTPStatus

from tidegate.serve.refusals import RefusalError


class ConcurrencyLimiter:
    """Requests or streams that are under way, by person."""

    def __init__(self, noun: str, *, of_one_max: int, total_max: int = 0) -> None:
        """``noun``: how a refusal calls them; ``total_max`` of all people, 0: any number."""
        self._noun, self._of_one_max, self._total_max = noun, of_one_max, total_max
        self._running = Counter[str]()

    @contextmanager
    def acquire(self, person: str) -> Generator[None]:
        """Count one while it lasts.

        Raises:
            RefusalError: there are too many.
        """
        full = 0 < self._total_max <= self._running.total()
        if full or self._running[person] >= self._of_one_max:
            message = f"At most {self._of_one_max} {self._noun} of one person at once: wait."
            raise RefusalError(HTTPStatus.TOO_MANY_REQUESTS, message, retry_after_s=5)
        self._running[person] += 1
        try:
            yield
        finally:
            self._running[person] -= 1
            if not self._running[person]:
                del self._running[person]
