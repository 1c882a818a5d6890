"""``tidegate ledger archive`` on PostgreSQL: old events become files, and leave the database.

They lie in tables by their seq, of which each holds events of all partitions of the ledger. Of each
table and partition, in this order: a file under another name; its chain, read back from disk; its
name; the row of ``ledger_archive``, from which on readers have the file. A table all of whose
events are in files is detached; the files' digests and the table's ends are compared with these
rows; and it is dropped. From one that a partition still needs the others' rows are deleted. Killed
between any two, the next run goes on behind what was done: until the row is there the file is
written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from store.archive.archive_format import archive_name, archive_of, fsync_file, sha256_of, write
from store.archive.archive_ranges import ArchivedRange
from tidegate.cli.progress import with_progress
from tidegate.contracts.chain import GENESIS, verify
from tidegate.contracts.entry import Entry
from tidegate.errors import LedgerUnreachableError


def archived_parts(engine: Any, partition: int = 0) -> list[ArchivedRange]:  # noqa: ANN401 - SQL's
    """Return a ledger's parts in files, the oldest first.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    from store.access.engine import selecting  # noqa: PLC0415
    from store.archive import archive_ranges  # noqa: PLC0415 - SQL may be absent

    with selecting(engine) as select:
        return archive_ranges.archived_ranges(select, partition)


def archive_anchor(engine: Any, partition: int = 0) -> Entry:  # noqa: ANN401 - SQL's
    """Return the entry behind which the next part begins; errors as ``archived_parts``."""
    parts = archived_parts(engine, partition)
    return parts[-1].anchor() if parts else replace(GENESIS, partition=partition)


def read_verified_part(written: Path, anchor: Entry, named: Path) -> ArchivedRange:
    """Return the part that a file holds, its chain checked as it is on disk.

    Args:
        written: the file.
        anchor: the entry behind which it begins.
        named: where it will be.

    Raises:
        ChainError: what was read back does not follow from the anchor.
    """
    end = GENESIS
    for entry in verify(archive_of(written).read(), anchor):
        end = entry
    return ArchivedRange(
        partition=end.partition,
        seq=end.seq,
        first_seq=anchor.seq + 1,
        epoch=end.epoch,
        turn=end.turn,
        at_us=end.at_us,
        hash=end.hash,
        opened="",
        file=str(named),
        digest=sha256_of(written),
    )


def archive_partitions(
    engine: Any,  # noqa: ANN401 - SQL's
    folder: Path,
    suffix: str,
    until: Mapping[int, int],
) -> Iterator[ArchivedRange]:
    """Move events up to the end of a table to files; yield each one's part.

    ``until`` is for each partition of the ledger that is archived the seq at which its last table
    ends, or later. A partition's newest event stays, and so does what is in its table.

    Raises:
        ChainError: the ledger does not hold.
        LedgerUnreachableError: the database does not answer, or a file is not what was written.
    """
    from store.archive.archiving import record_range  # noqa: PLC0415 - SQL may be absent
    from store.ledger import SqlLedger  # noqa: PLC0415
    from store.partitions.detaching import archiving_lock, attached_partitions  # noqa: PLC0415

    with archiving_lock(engine):
        delete_archived_rows(engine)
        for table in attached_partitions(engine):
            last, parts = table.upper - 1, list[ArchivedRange]()
            for number, limit in until.items():
                ledger, anchor = SqlLedger(engine, number), archive_anchor(engine, number)
                newest = ledger.newest()
                if newest is None or last > min(limit, newest.seq - 1) or last <= anchor.seq:
                    continue  # it goes on in this table, or its events are archived already
                entries = with_progress(
                    ledger.read(anchor.seq, last), "archiving", last - anchor.seq
                )
                name = archive_name(anchor.seq + 1, last, suffix, number)
                part = _write_part(verify(entries, anchor), anchor, folder / name)
                record_range(engine, part)
                parts.append(part)
            if parts:
                delete_archived_rows(engine)
            yield from parts
        delete_rows_of_shared_tables(engine)


def delete_archived_rows(engine: Any) -> None:  # noqa: ANN401 - SQL's
    """Take out of the database what files hold and rows of ``ledger_archive`` say so.

    Raises:
        LedgerUnreachableError: the database does not answer, or a file is not what was written:
            its events stay.
    """
    from store.partitions.detaching import (  # noqa: PLC0415
        attached_partitions,
        detach_partition,
        detached_partitions,
        drop_table,
    )

    parts = _parts_by_partition(engine)
    archived = {number: each[-1].seq if each else 0 for number, each in parts.items()}
    for partition in attached_partitions(engine):
        last = partition.upper - 1
        if archived and all(last <= seq for seq in archived.values()):
            _verify_digests(part for each in parts.values() for part in each if part.seq == last)
            detach_partition(engine, partition)
    for table in detached_partitions(engine):
        for rows in table.rows:
            if rows.last > archived.get(rows.partition, 0):
                raise LedgerUnreachableError(
                    f"{table.name} is no partition, and no archive has its events up to"
                    f" {rows.last}: ALTER TABLE ledger_event ATTACH PARTITION {table.name}"
                    " brings them back."
                )
            _verify_rows_archived(table.name, rows, parts[rows.partition])
        drop_table(engine, table.name)


def _parts_by_partition(engine: Any) -> dict[int, list[ArchivedRange]]:  # noqa: ANN401 - SQL's
    """Return the archived ranges of each partition that has events."""
    from store.access.engine import selecting  # noqa: PLC0415
    from store.reading.about import head_seqs  # noqa: PLC0415

    with selecting(engine) as select:
        numbers = [number for number, seq in head_seqs(select).items() if seq]
    return {number: archived_parts(engine, number) for number in numbers}


def delete_rows_of_shared_tables(engine: Any) -> None:  # noqa: ANN401 - SQL's
    """Delete the rows that files hold from tables that another partition of the ledger needs.

    Errors as in ``delete_archived_rows``.
    """
    from store.archive.archiving import delete_events  # noqa: PLC0415 - SQL may be absent
    from store.partitions.detaching import stored_rows  # noqa: PLC0415

    for number, each in _parts_by_partition(engine).items():
        rows = stored_rows(engine, number, each[-1].seq) if each else None
        if rows is not None:
            _verify_rows_archived("ledger_event", rows, each)
            delete_events(engine, number, rows.first, rows.last)


def _verify_rows_archived(table: str, rows: Any, parts: Sequence[ArchivedRange]) -> None:  # noqa: ANN401 - of SQL's package
    """Make sure that files hold some rows: as many, with the same end.

    Raises:
        LedgerUnreachableError: they do not.
    """
    overlapping = [part for part in parts if part.first_seq <= rows.last and rows.first <= part.seq]
    _verify_digests(overlapping)
    hashes = {part.seq: part.hash for part in overlapping}
    if rows.number != rows.last - rows.first + 1 or hashes.get(rows.last) != rows.hash:
        files = ", ".join(part.file for part in overlapping)
        raise LedgerUnreachableError(
            f"{table} has {rows.number} events of partition {rows.partition}, {rows.first} to"
            f" {rows.last}: not what {files} ends with: nothing was dropped."
        )


def _verify_digests(parts: Iterable[ArchivedRange]) -> None:
    for part in parts:
        if sha256_of(part.path()) != part.digest:
            raise LedgerUnreachableError(
                f"{part.path()} is not the file that was written: its SHA-256 is another. The"
                " events are still in the database; put the file back."
            )


def _write_part(entries: Iterable[Entry], anchor: Entry, file: Path) -> ArchivedRange:
    """Write a file, read it back from disk and give it its name.

    Raises:
        ChainError: what was read back does not follow from the anchor.
    """
    unnamed = file.with_name(f".{file.name}")
    unnamed.unlink(missing_ok=True)
    write(entries, unnamed)
    fsync_file(unnamed)
    part = read_verified_part(unnamed, anchor, file)
    unnamed.rename(file)  # one of that name, and no row that tells of it, was left by a kill
    fsync_file(file)
    return part
