"""The reading side of a ledger: its entries in order, from the table and from archive files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from store.archive import archive_ranges
from store.reading.entries import (
    EVERY,
    PAGE_ROWS,
    EntryFilter,
    entries_naming,
    newest_entry,
    newest_seq,
    read_page,
    read_page_before,
    seq_at,
)
from store.statements.selecting import Lend
from tidegate.contracts.entry import Entry


class LedgerHistory:
    """The reading side of ``tidegate.bus.ports.Ledger``, over lent connections."""

    def __init__(self, lend: Lend, partition: int = 0) -> None:
        self._lend, self._partition = lend, partition

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """See ``tidegate.bus.ports.Ledger.read``.

        No transaction stays open while the caller works on a page: the history behind it is fixed.
        What was archived comes from its files.
        """
        while True:
            with self._lend() as select:
                entries = read_page(select, self._partition, after, until)
                archived_parts = archive_ranges.missing_ranges(
                    select, self._partition, after, until, entries
                )
            before = after
            for entry in archive_ranges.read_archived(archived_parts, after, until):
                yield entry
                after = entry.seq
            if after > before:
                continue
            yield from entries
            if len(entries) < PAGE_ROWS:
                return
            after = entries[-1].seq

    def back(
        self, until: int, rows: int = PAGE_ROWS, narrow: EntryFilter = EVERY
    ) -> Iterator[Entry]:
        """Yield the entries with seq <= ``until``, newest first, so many at a time.

        What was archived is narrowed by its seq alone, and each file's entries are in memory
        together.
        """
        while True:
            with self._lend() as select:
                entries = read_page_before(select, self._partition, until, rows, narrow)
                last = len(entries) < rows
                ranges = archive_ranges.archived_ranges(select, self._partition) if last else []
            yield from entries
            if entries:
                until = entries[-1].seq - 1  # a file may have what is still in the table
            if last:
                break
        for part in reversed(ranges):
            if part.seq > narrow.after:
                yield from reversed(list(part.archive().read(narrow.after, until)))

    def naming(self, texts: Sequence[str], after: int, until: int) -> Iterator[Entry]:
        """Yield the entries with ``after`` < seq <= ``until`` that name a text, in order.

        The database looks through their payloads; what was archived is yielded whole.
        """
        with self._lend() as select:
            ranges = archive_ranges.archived_ranges(select, self._partition)
        archived = ranges[-1].seq if ranges else 0
        if after < archived:
            yield from self.read(after, min(archived, until))
        with self._lend() as select:
            entries = entries_naming(select, self._partition, texts, max(after, archived), until)
        yield from entries

    def seq_at(self, at_us: int) -> int:
        """Return the seq of the last entry that is not later than a time; 0: there is none.

        Raises:
            LedgerUnreachableError: the database does not answer.
        """
        with self._lend() as select:
            ranges = archive_ranges.archived_ranges(select, self._partition)
            if not ranges or at_us >= ranges[-1].at_us:
                return seq_at(select, self._partition, at_us, ranges[-1].seq if ranges else 0)
        return archive_ranges.seq_at(ranges, at_us)

    def newest(self) -> Entry | None:
        """Return the last entry; None while the ledger is empty.

        Raises:
            LedgerUnreachableError: the database does not answer.
        """
        with self._lend() as select:
            return newest_entry(select, self._partition)

    def newest_seq(self) -> int:
        """Return the seq of the last entry; 0 while the ledger is empty.

        Raises:
            LedgerUnreachableError: the database does not answer.
        """
        with self._lend() as select:
            return newest_seq(select, self._partition)
