"""A state of the past, folded onwards from the nearest one that is at hand."""

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
from tidegate.serve.ledger.sparing import forget_passed, take_apart

APART_EVENTS = 5_000
"""A state that is passed on the way is kept each so many events, so that steps back are short."""
BYTES_MAX = 16 * 2**20
_KEPT = (
    "SELECT COALESCE(MAX(seq), 0) FROM ledger_snapshot"
    " WHERE partition = 0 AND version = :version AND seq <= :until"
)


class Past:
    """Holds one state, and some more in few bytes. Used by several threads in turn."""

    def __init__(self, apart: int = APART_EVENTS, bytes_max: int = BYTES_MAX) -> None:
        self._apart, self._bytes_max = apart, bytes_max
        self._lock = Lock()
        self._state: State | None = None
        self._passed = dict[int, bytes]()  # seq to a state, as it is encoded

    @property
    def passed_bytes(self) -> int:
        """Return how many bytes the states that were passed take."""
        return sum(map(len, self._passed.values()))

    @contextmanager
    def state(self, reader: Reader) -> Generator[State]:
        """Lend the state at a reader's end; it is not to be changed.

        Raises:
            LedgerUnreachableError: the database does not answer.
        """
        with self._lock:
            last, self._state = self._state, None  # what fails halfway is thrown away
            state = self._nearest(reader, last)
            del last
            for entry in reader.ledger.read(state.seq, reader.end):
                apply_recorded(state, decode(entry.payload))
                if entry.seq % self._apart == 0:
                    self._keep(state)
            forget_passed(state)
            self._state = state
            yield state

    def _nearest(self, reader: Reader, last: State | None) -> State:
        """Return the newest state not behind a reader's end: the last one, a passed or a kept."""
        end, in_ledger = reader.end, _kept_seq(reader)
        passed = sorted(self._passed)
        at = bisect_right(passed, end)
        in_memory = passed[at - 1] if at else 0
        if last is not None and max(in_ledger, in_memory) <= last.seq <= end:
            return last
        if last is not None:
            take_apart(last)  # two states at once are more memory than one
        if in_memory >= in_ledger and in_memory:
            return snapshot.decode(zlib.decompress(self._passed[in_memory]))
        return reader.start()[0]

    def _keep(self, state: State) -> None:
        if state.seq in self._passed:
            return
        self._passed[state.seq] = zlib.compress(snapshot.encode(state), 1)
        while self.passed_bytes > self._bytes_max:
            del self._passed[next(iter(self._passed))]


def _kept_seq(reader: Reader) -> int:
    """Return the seq of the newest state that is kept up to a reader's end; 0: there is none."""
    assert reader.database is not None, "an archive is not served"
    values = {"version": snapshot.VERSION, "until": reader.end}
    return int(reader.database.select(_KEPT, **values)[0][0])
