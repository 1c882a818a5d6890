"""A ledger out of an exported file: checked to its end, then written to an empty database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from tidegate.cli.progress import with_progress
from tidegate.contracts.chain import GENESIS, verify
from tidegate.contracts.entry import Entry, Positions
from tidegate.errors import LedgerUnreachableError, NotSupportedError

HOLDER, LEASE_US = "restore", 60_000_000
PAGE_ROWS = 1_000


def restore_from_file(source: Any, target: str) -> Entry:  # noqa: ANN401 - an archive, of SQL's package
    """Write what an exported file holds to an empty database; return its last entry.

    The file is checked to its end before anything is written, so a damaged one leaves nothing
    behind. Positions of the bus are not in it: `tidegate ledger recover` finds them.

    Raises:
        ChainError: an entry is missing, moved or altered.
        UndecodableError: the file is damaged; the message says where.
        NotSupportedError: it begins behind seq 1, or holds nothing.
        LedgerUnreachableError: the database does not answer, or holds a ledger already.
    """
    from store.access.engine import open_engine, redacted_url  # noqa: PLC0415 - SQL may be absent
    from store.ledger import SqlLedger  # noqa: PLC0415
    from store.recovery import end_term  # noqa: PLC0415
    from store.schema.migrate import upgrade  # noqa: PLC0415

    end = _verify_entries(source.read())
    engine = open_engine(target)
    try:
        upgrade(engine)
        ledger = SqlLedger(engine)
        term = None if ledger.newest() else ledger.begin_term(HOLDER, LEASE_US)
        if term is None:
            raise LedgerUnreachableError(f"{redacted_url(engine)} holds a ledger already.")
        after = 0
        for entries in _turn_pages(with_progress(source.read(0, end.seq), "restoring", end.seq)):
            ledger.append(term.epoch, after, entries, Positions())
            after = entries[-1].seq
        end_term(engine, GENESIS.partition, term.epoch, end.epoch)
    finally:
        engine.dispose()
    return end


def _verify_entries(entries: Iterator[Entry]) -> Entry:
    """Return the last entry of a whole history."""
    first = next(entries, None)
    if first is None:
        raise NotSupportedError("The file holds no event: there is nothing to restore.")
    if first.seq != 1:
        raise NotSupportedError(
            f"The file begins at seq {first.seq}: it is a part of a history, kept by `ledger "
            "archive`. Copy the ledger that it belongs to, or an export from seq 1."
        )
    end = GENESIS
    for entry in verify(_prepend(first, entries)):
        end = entry
    return end


def _prepend(first: Entry, rest: Iterator[Entry]) -> Iterator[Entry]:
    yield first
    yield from rest


def _turn_pages(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Yield whole turns, as many as make a page."""
    page = list[Entry]()
    for _, turn in groupby(entries, key=lambda entry: entry.turn):
        page.extend(turn)
        if len(page) >= PAGE_ROWS:
            yield page
            page = []
    if page:
        yield page
