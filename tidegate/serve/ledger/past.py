"""A state of the past, folded onwards from the nearest one that is at hand."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

from tidegate.cli.ledger.reading import Reader
from tidegate.contracts.codec import decode
from tidegate.core.folding import snapshot
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.state.state import State
from tidegate.serve.ledger.checkpoints import StateCheckpoints
from tidegate.serve.ledger.memory import drop_decided, free_state

_KEPT = (
    "SELECT COALESCE(MAX(seq), 0) FROM ledger_snapshot"
    " WHERE partition = :partition AND version = :version AND seq <= :until"
)


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
