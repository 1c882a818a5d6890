"""A state that follows a growing ledger: what live displays draw from."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeAlias

from store.reading.database import open_database
from store.reading.history import LedgerHistory
from tidegate.bus.catchup import LedgerReader
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import FactEvent
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.state.state import State
from tidegate.replay.rebuild import FORGOTTEN_EACH, drop_decided

FoldedEvent: TypeAlias = tuple[Entry, FactEvent | DecisionEvent]


class LedgerFollower:
    """Folds what was appended since it last looked; reads only."""

    def __init__(self, ledger: LedgerReader, state: State | None = None) -> None:
        """``state``, if given, is the one that the ledger gives at some seq: it goes on there."""
        self._ledger = ledger
        self.state = State() if state is None else state
        self._forgotten_seq = self.state.seq

    def poll(self) -> list[FoldedEvent]:
        """Fold and return what is new; reads one page at a time.

        Raises:
            LedgerUnreachableError: the database does not answer.
        """
        rows: list[FoldedEvent] = []
        for entry in self._ledger.read(after=self.state.seq):
            event = decode(entry.payload)
            apply_recorded(self.state, event)
            rows.append((entry, event))
        if self.state.seq - self._forgotten_seq >= FORGOTTEN_EACH:
            self._forgotten_seq = self.state.seq
            drop_decided(self.state)
        return rows


@contextmanager
def open_follower(url: str) -> Generator[LedgerFollower]:
    """Open a ledger read-only and follow it from its first event.

    Raises:
        LedgerUnreachableError: there is no such ledger, or its database does not answer.
    """
    database = open_database(url)
    try:
        yield LedgerFollower(LedgerHistory(database.lend))
    finally:
        database.close()
