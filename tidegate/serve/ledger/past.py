"""A state of the past, folded onwards from the nearest that is at hand, or kept in few bytes."""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

from tidegate.cli.ledger.reading import Reader
from tidegate.contracts.codec import decode
from tidegate.core.folding import snapshot
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.state.state import State
from tidegate.replay.rebuild import drop_decided
from tidegate.serve.ledger.memory import free_state

APART_EVENTS = 2_500
"""A state is kept each so many events."""
APART_BYTES = 640
"""… and for so many of its bytes not more than one event: writing a large one takes longer."""
BYTES_MAX = 32 * 2**20
_KEPT = (
    "SELECT COALESCE(MAX(seq), 0) FROM ledger_snapshot"
    " WHERE partition = :partition AND version = :version AND seq <= :until"
)


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


class PastState:
    """Holds one state of the past. Used by several threads in turn."""

    def __init__(self, moments: StateCheckpoints) -> None:
        self._moments = moments
        self._lock = Lock()
        self._state: State | None = None

    @contextmanager
    def state(self, reader: Reader) -> Generator[State]:
        """Lend the state at a reader's end; it is not to be changed.

        Raises:
            LedgerUnreachableError: the database does not answer.
        """
        with self._lock:
            last, self._state = self._state, None  # what fails halfway is thrown away
            state = self._nearest_state(reader, last)
            del last
            for entry in reader.ledger.read(state.seq, reader.end):
                apply_recorded(state, decode(entry.payload))
                self._moments.add(state)
            drop_decided(state)
            self._state = state
            yield state

    def _nearest_state(self, reader: Reader, last: State | None) -> State:
        """Return the newest state not behind a reader's end: the last one, a passed or a kept."""
        end, in_ledger = reader.end, _checkpoint_seq(reader)
        in_memory = self._moments.nearest_seq(end)
        if last is not None and max(in_ledger, in_memory) <= last.seq <= end:
            return last
        if last is not None:
            free_state(last)  # two states at once are more memory than one
        snapshot = self._moments.state(in_memory) if in_memory >= in_ledger else None
        return reader.start_state()[0] if snapshot is None else snapshot


def _checkpoint_seq(reader: Reader) -> int:
    """Return the seq of the newest state that is kept up to a reader's end; 0: there is none."""
    assert reader.database is not None, "an archive is not served"
    values = {"partition": reader.partition, "version": snapshot.VERSION, "until": reader.end}
    return int(reader.database.select(_KEPT, **values)[0][0])
