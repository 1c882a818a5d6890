"""States of moments that were passed, in few bytes: folding begins at the nearest one."""

from __future__ import annotations

import zlib
from bisect import bisect_right
from threading import Lock

from tidegate.core.folding import snapshot
from tidegate.core.state.state import State

APART_EVENTS = 2_500
"""A state is kept each so many events."""
APART_BYTES = 640
"""… and for so many of its bytes not more than one event: writing a large one takes longer."""
BYTES_MAX = 32 * 2**20


class StateCheckpoints:
    """States by the seq of their newest event, the last that were kept; for several threads."""

    def __init__(self, apart: int = APART_EVENTS, bytes_max: int = BYTES_MAX) -> None:
        self._apart, self._bytes_max = apart, bytes_max
        self._lock = Lock()
        self._checkpoints = dict[int, bytes]()
        self._written_bytes = 0  # of the newest state, not compressed
        self.bytes = 0

    def add(self, state: State) -> None:
        """Keep a state if its seq is one of those that are: each so many events."""
        if state.seq % self._spacing() or state.seq in self._checkpoints:
            return
        written = snapshot.write(state)
        compressed = zlib.compress(written, 1)
        with self._lock:
            self._written_bytes = len(written)
            self._checkpoints[state.seq] = compressed
            self.bytes += len(compressed)
            while self.bytes > self._bytes_max:
                self.bytes -= len(self._checkpoints.pop(next(iter(self._checkpoints))))

    def nearest_seq(self, until: int) -> int:
        """Return the seq of the newest state that is kept up to a seq; 0: there is none."""
        with self._lock:
            seqs = sorted(self._checkpoints)
        at = bisect_right(seqs, until)
        return seqs[at - 1] if at else 0

    def state(self, seq: int) -> State | None:
        """Return a state that is kept, made anew; None: it is kept no more."""
        with self._lock:
            compressed = self._checkpoints.get(seq)
        return None if compressed is None else snapshot.decode(zlib.decompress(compressed))

    def _spacing(self) -> int:
        spacing = self._apart
        while spacing * APART_BYTES < self._written_bytes:
            spacing *= 2
        return spacing
