"""Answers that are remembered for seconds, and so many at most."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class TtlCache(Generic[Key, Value]):
    """Values that count for a while after they were put; the oldest leaves when it is full."""

    def __init__(self, seconds: float, entries_max: int, now_s: Callable[[], float]) -> None:
        self._seconds, self._entries_max, self._now_s = seconds, entries_max, now_s
        self._values = OrderedDict[Key, tuple[float, Value]]()

    def get(self, key: Key) -> Value | None:
        """Return a value that still counts; None: there is none."""
        cached = self._values.get(key)
        if cached is None or self._now_s() - cached[0] >= self._seconds:
            return None
        return cached[1]

    def put(self, key: Key, value: Value) -> None:
        """Remember a value from now on."""
        self._values[key] = (self._now_s(), value)
        self._values.move_to_end(key)
        if len(self._values) > self._entries_max:
            self._values.popitem(last=False)
