"""A writer in a process of its own whose disk is full at some point."""

from __future__ import annotations

from resource import RLIMIT_FSIZE, getrlimit, setrlimit

from store.access.engine import open_engine
from store.ledger import SqlLedger
from tests.store.histories import LEASE_US
from tidegate.contracts.entry import Entry, Positions
from tidegate.errors import CommitUnknownError, LedgerUnreachableError


def write_until_full(url: str, turns: list[list[Entry]], bytes_max: int) -> tuple[int, str]:
    """Append turns until no file may grow; return how many were confirmed, and the error's name."""
    setrlimit(RLIMIT_FSIZE, (bytes_max, getrlimit(RLIMIT_FSIZE)[1]))
    engine = open_engine(url)
    try:
        ledger = SqlLedger(engine)
        ledger.begin_term("a", LEASE_US)
        for place, entries in enumerate(turns):
            try:
                ledger.append(1, entries[0].seq - 1, entries, Positions())
            except (CommitUnknownError, LedgerUnreachableError) as error:
                return place, type(error).__name__
        return len(turns), ""
    finally:
        engine.dispose()
