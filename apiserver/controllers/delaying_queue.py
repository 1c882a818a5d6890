"""Keys that wait for their time: the work queue of the controllers."""

from __future__ import annotations

import heapq
from itertools import count

Key = tuple[str, str, str]  # which controller, namespace, name


class DelayingQueue:
    """Each key at most once, the earliest first; equal times in the order of their arrival."""

    def __init__(self) -> None:
        self._times = dict[Key, int]()
        self._heap = list[tuple[int, int, Key]]()
        self._arrivals = count()

    def add(self, key: Key, at_us: int) -> None:
        """Let a key come due at a time, or keep it where it is due earlier."""
        if key not in self._times or at_us < self._times[key]:
            self._times[key] = at_us
            heapq.heappush(self._heap, (at_us, next(self._arrivals), key))

    def next_us(self) -> int | None:
        """Return when the next key comes due; None: nothing waits."""
        while self._heap and self._times.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)  # an earlier time for that key came after
        return self._heap[0][0] if self._heap else None

    def pop(self, now_us: int) -> Key | None:
        """Take the next key that is due by now, or None."""
        at_us = self.next_us()
        if at_us is None or at_us > now_us:
            return None
        key = heapq.heappop(self._heap)[2]
        del self._times[key]
        return key
