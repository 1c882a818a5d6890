"""Losses of a ledger: its newest rows, though the reports have them; or an archive."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from store.archive import archive_ranges
from store.archive.archive_format import sha256_of
from store.reading.cut_tail import newest_reference_behind
from tidegate.cli.ledger.reading import Reader
from tidegate.cli.output import print_message
from tidegate.errors import ChainError, LedgerUnreachableError, UndecodableError, WitnessError


def refuse_truncated_ledger(reader: Reader, end: int) -> None:
    """Make sure that nothing in the database tells of events behind the end that was read.

    A scheduler may write meanwhile: what it wrote is there, and is not cut off.

    Raises:
        WitnessError: a report, a snapshot or an archive names a later event, which is gone.
    """
    if reader.database is None:
        return
    later = newest_reference_behind(reader.database.select, reader.partition, end)
    if later is not None and not list(reader.ledger.read(later.seq - 1, later.seq)):
        raise WitnessError(
            f"an entry with seq {later.seq}, which {later.table} tells of", f"the end at {end}"
        )


@contextmanager
def name_damaged_archives(reader: Reader) -> Generator[None]:
    """Name the archives to blame when the body finds that the history does not verify."""
    try:
        yield
    except (ChainError, UndecodableError):
        for message in _damaged_archives(reader):
            print_message(message)
        raise


def _damaged_archives(reader: Reader) -> list[str]:
    if reader.database is None:
        return []
    parts = archive_ranges.archived_ranges(reader.database.select, reader.partition)
    messages = list[str]()
    for part in parts:
        try:
            same = sha256_of(part.path()) == part.digest
        except LedgerUnreachableError as error:
            messages.append(str(error))
            continue
        if not same:
            messages.append(
                f"{part.file} is not what was archived: it held the events {part.first_seq} to "
                f"{part.seq}, and its SHA-256 was {part.digest}. Put a right copy in its place."
            )
    return messages
