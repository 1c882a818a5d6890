"""Maps names to the events that mention them, in sixteen bytes for each mention.

A name is a hash here, salted anew in each process. Names share a bucket with others, in which they
are sorted; within a name events are in order, since they come in order.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from threading import Lock
from typing import TypeAlias

_BUCKETS = 4_096
_HASHES = 1 << 64
_Seqs: TypeAlias = "array[int]"


class Mentions:
    """A multimap of names to events, added to by one thread and read by others."""

    def __init__(self) -> None:
        self._buckets: list[tuple[_Seqs, _Seqs]] = [
            (array("Q"), array("Q")) for _ in range(_BUCKETS)
        ]
        self._lock = Lock()

    def add(self, name: str, seq: int) -> None:
        """Note that an event names something."""
        number = hash(name) % _HASHES
        names, seqs = self._buckets[number % _BUCKETS]
        with self._lock:
            at = bisect_right(names, number)
            seqs.insert(at, seq)
            names.insert(at, number)

    def of(self, name: str) -> _Seqs:
        """Return the events that name something, in order."""
        number = hash(name) % _HASHES
        names, seqs = self._buckets[number % _BUCKETS]
        with self._lock:
            return seqs[bisect_left(names, number) : bisect_right(names, number)]
