"""Sums of full hours, remembered: they change no more."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeAlias

from tidegate.serve.auth.ttl_cache import TtlCache

REMEMBERED_S, REMEMBERED_MAX = 300.0, 8
"""Prices may be set for the past, so they count for minutes."""
Rows: TypeAlias = list[dict[str, Any]]


class RowCache:
    """Rows by what they are of; one thread at a time makes them."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._rows = TtlCache[tuple[object, ...], Rows](REMEMBERED_S, REMEMBERED_MAX, now_s)
        self._lock = Lock()

    def get_or_make(self, key: tuple[object, ...], make: Callable[[], Rows]) -> Rows:
        """Return rows that are remembered, or make them."""
        with self._lock:
            rows = self._rows.get(key)
            if rows is None:
                rows = make()
                self._rows.put(key, rows)
            return rows
