"""The events that left the database for files, and the anchors that the rest goes on from.

A row of ``ledger_archive`` is written, and the events deleted from the oldest on, only after the
file is on disk. Readers take from the files what the table no longer has and notice nothing; a file
that is gone is named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from store.archive.archive_format import Archive, archive_of
from store.archive.parquet import ParquetArchive
from store.reading import entries
from store.reading.entries import PAGE_ROWS
from store.statements.rare_types import IS_RARE
from store.statements.selecting import Select
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import LedgerOpened
from tidegate.errors import LedgerUnreachableError

FOLDER_VARIABLE = "TIDEGATE_ARCHIVES"
"""Where archives are now, if not where they were written."""


class ArchivedRange(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ``ledger_archive``: a file of events, and the entry that ends it."""

    partition: int
    seq: int
    first_seq: int
    epoch: int
    turn: int
    at_us: int
    hash: bytes
    opened: str
    file: str
    digest: str

    def anchor(self) -> Entry:
        """Return what the chain goes on from: the entry without its texts."""
        return Entry(
            self.partition, self.seq, self.epoch, self.turn, self.at_us, "", "", "", "", self.hash
        )

    def path(self) -> Path:
        """Return where the file is.

        Raises:
            LedgerUnreachableError: it is not there.
        """
        path = Path(self.file)
        if folder := os.environ.get(FOLDER_VARIABLE):
            path = Path(folder) / path.name
        if not path.is_file():
            raise LedgerUnreachableError(
                f"The events {self.first_seq} to {self.seq} are archived in {path}, which is not "
                f"there: put it back, or name its folder in {FOLDER_VARIABLE}."
            )
        return path

    def archive(self) -> Archive | ParquetArchive:
        """Return the file to read.

        Raises:
            LedgerUnreachableError: it is not there.
        """
        return archive_of(self.path())


_PARTS = (
    f"SELECT {', '.join(ArchivedRange.__struct_fields__)} FROM ledger_archive"  # noqa: S608 - our names
    " WHERE partition = :partition ORDER BY seq"
)

_PAYLOADS = "SELECT payload FROM ledger_event WHERE partition = :partition"


def archived_ranges(select: Select, partition: int) -> list[ArchivedRange]:
    """Return what was archived, oldest first."""
    rows = select(_PARTS, partition=partition)
    return [
        ArchivedRange(**dict(zip(ArchivedRange.__struct_fields__, row, strict=True)))
        for row in rows
    ]


def missing_ranges(
    select: Select, partition: int, after: int, until: int | None, page: list[Entry]
) -> list[ArchivedRange]:
    """Return the parts that hold what lies between ``after`` and a page that was found."""
    if (page and page[0].seq == after + 1) or (until is not None and until <= after):
        return []
    return [part for part in archived_ranges(select, partition) if part.seq > after]


def read_archived(archived: list[ArchivedRange], after: int, until: int | None) -> Iterator[Entry]:
    """Yield the archived entries with ``after`` < seq <= ``until``, in order.

    Raises:
        LedgerUnreachableError: a file is not there.
        UndecodableError: a line of it is not an entry.
    """
    for part in archived:
        if until is None or part.first_seq <= until:
            yield from part.archive().read(after, until)


def seq_at(archived: list[ArchivedRange], at_us: int) -> int:
    """Return the seq of the last archived entry that is not later than a time; 0: there is none.

    Raises:
        LedgerUnreachableError: the file that knows is not there.
    """
    before = 0
    for part in archived:
        if part.at_us > at_us:
            return part.archive().seq_at(at_us) or before
        before = part.seq
    return before


def all_pages(select: Select, partition: int) -> Iterator[list[Entry]]:
    """Yield all entries of a partition, the archived ones first, in pages.

    Raises:
        LedgerUnreachableError: an archive's file is not there.
    """
    archived_parts = archived_ranges(select, partition)
    archived = read_archived(archived_parts, 0, None)
    while page := list(islice(archived, PAGE_ROWS)):
        yield page
    yield from entries.read_pages(
        select, partition, archived_parts[-1].seq if archived_parts else 0
    )


def last_opened(select: Select, partition: int, until: int | None = None) -> str:
    """Return the payload of the last LedgerOpened up to ``until``; empty if there is none."""
    sql = f"{_PAYLOADS} AND type = :type AND {IS_RARE}"
    values: dict[str, object] = {"partition": partition, "type": LedgerOpened.__name__}
    if until is not None:
        sql, values["until"] = f"{sql} AND seq <= :until", until
    if rows := select(f"{sql} ORDER BY seq + 0 DESC LIMIT 1", **values):
        return str(rows[0][0])
    archived = archived_ranges(select, partition)
    return archived[-1].opened if archived else ""
