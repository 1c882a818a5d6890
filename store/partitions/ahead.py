"""The next table partition, created before the writer needs it, so that no turn waits for it."""

from __future__ import annotations

from sqlalchemy import Engine

from store.failures import transaction
from store.partitions.making import EVENTS_DEFAULT, make_partitions
from tidegate.errors import LedgerUnreachableError

_TRIES = 100
"""A partition spans so many times the events after which a failure is tried again."""


class PartitionsAhead:
    """What one writer knows of the partitions; SQLite has none."""

    def __init__(self, engine: Engine, size: int = EVENTS_DEFAULT) -> None:
        """``size`` is how many seqs a new partition spans."""
        self._engine, self._size = engine, size
        self._upper = 0  # the first seq without a partition
        self._next = 0  # the seq from which on the next partition is created

    def make(self, first: int, last: int) -> None:
        """Make sure that partitions exist for some seqs; create the next one in good time.

        Raises:
            LedgerUnreachableError: no partition exists, and none can be created.
        """
        if last < self._next or self._engine.dialect.name != "postgresql":
            return
        try:
            with transaction(self._engine) as conn:
                self._upper = make_partitions(conn, first, last + self._size, self._size)
        except LedgerUnreachableError:
            # The table is locked: there is time, a whole partition is ahead.
            if last >= self._upper:
                raise
            self._next = last + max(1, self._size // _TRIES)
        else:
            self._next = self._upper - self._size
