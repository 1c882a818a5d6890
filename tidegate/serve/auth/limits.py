"""Limits of a user: requests a second, and requests under way, so that none takes all threads."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http import HTTPStatus

from tidegate.serve.refusals import RefusalError

PEOPLE_MAX = 10_000
BURST_S = 3
"""So many seconds' requests may come at once."""


class RateLimiter:
    """A bucket of requests for each person, which fills again as time passes."""

    def __init__(self, per_s: float, now_s: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._now_s = per_s, now_s
        self._buckets = OrderedDict[str, tuple[float, float]]()

    def acquire(self, person: str) -> None:
        """Count one request.

        Raises:
            RefusalError: it is one too many.
        """
        now_s = self._now_s()
        tokens = self._tokens(person, now_s)
        self._buckets[person] = (max(0.0, tokens - 1), now_s)
        self._buckets.move_to_end(person)
        if len(self._buckets) > PEOPLE_MAX:
            self._buckets.popitem(last=False)
        self._refuse_if_empty(tokens)

    def check(self, person: str) -> None:
        """Count nothing.

        Raises:
            RefusalError: the next request would be one too many.
        """
        self._refuse_if_empty(self._tokens(person, self._now_s()))

    def _tokens(self, person: str, now_s: float) -> float:
        burst = self._per_s * BURST_S
        tokens, at_s = self._buckets.get(person, (burst, now_s))
        return min(burst, tokens + (now_s - at_s) * self._per_s)

    def _refuse_if_empty(self, tokens: float) -> None:
        if tokens < 1:
            message = f"At most {self._per_s:g} requests a second: wait."
            raise RefusalError(HTTPStatus.TOO_MANY_REQUESTS, message, retry_after_s=1)


class ConcurrencyLimiter:
    """Requests or streams that are under way, by person."""

    def __init__(self, noun: str, *, of_one_max: int, total_max: int = 0) -> None:
        """``noun``: how a refusal calls them; ``total_max`` of all people, 0: any number."""
        self._noun, self._of_one_max, self._total_max = noun, of_one_max, total_max
        self._running = Counter[str]()

    @contextmanager
    def acquire(self, person: str) -> Generator[None]:
        """Count one while it lasts."""
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
