"""``tidegate ledger archive`` on PostgreSQL: whole partitions become files, and leave the database.

Of each partition, in this order: a file under another name; its chain, read back from disk; its
name; the row of ``ledger_archive``, from which on readers have the file; the partition detached;
the file's digest and the table's end compared with that row; the table dropped. Killed between any
two, the next run goes on behind what was done: until the row is there the file is written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from store.archive.archive_format import digest, name_of, sync, write
from store.archive.archive_ranges import Part
from tidegate.cli.archiving.archived_parts import anchor_of, parts_of, read_back
from tidegate.cli.progress import watched
from tidegate.contracts.chain import verify
from tidegate.contracts.entry import Entry
from tidegate.errors import LedgerUnreachableError


def archive_partitions(engine: Any, folder: Path, suffix: str, until: int) -> Iterator[Part]:  # noqa: ANN401 - SQL's
    """Move the partitions that end at seq ``until`` or before to files; yield each one's part.

    The newest event stays, and so does its partition.

    Raises:
        ChainError: the ledger does not hold.
        LedgerUnreachableError: the database does not answer, or a file is not what was written.
    """
    from store.archive.archiving import note  # noqa: PLC0415 - SQL may be absent
    from store.ledger import SqlLedger  # noqa: PLC0415
    from store.partitions.detaching import alone, attached  # noqa: PLC0415

    with alone(engine):
        finish(engine)
        ledger = SqlLedger(engine)
        newest = ledger.newest()
        until = min(until, 0 if newest is None else newest.seq - 1)
        for partition in attached(engine):
            if partition.upper - 1 > until:
                return
            anchor = anchor_of(engine)
            if partition.upper - 1 <= anchor.seq:
                continue  # of seqs that are archived already
            last = partition.upper - 1
            entries = watched(ledger.read(anchor.seq, last), "archiving", last - anchor.seq)
            part = _file(
                verify(entries, anchor), anchor, folder / name_of(anchor.seq + 1, last, suffix)
            )
            note(engine, part)
            finish(engine)
            yield part


def finish(engine: Any) -> None:  # noqa: ANN401 - SQL's
    """Take out of the database what files hold and rows of ``ledger_archive`` say so.

    Raises:
        LedgerUnreachableError: the database does not answer, or a file is not what was written:
            its events stay.
    """
    from store.partitions.detaching import attached, detach, detached, drop  # noqa: PLC0415

    parts = parts_of(engine)
    archived = parts[-1].seq if parts else 0
    for partition in attached(engine):
        if partition.upper - 1 <= archived:
            _prove(part for part in parts if part.seq == partition.upper - 1)
            detach(engine, partition)
    for table in detached(engine):
        if table.last > archived:
            raise LedgerUnreachableError(
                f"{table.name} is no partition, and no archive has its events up to {table.last}:"
                f" ALTER TABLE ledger_event ATTACH PARTITION {table.name} brings them back."
            )
        overlapping = [
            part for part in parts if part.first_seq <= table.last and table.first <= part.seq
        ]
        _prove(overlapping)
        if table.rows:
            _compare(table, overlapping)
        drop(engine, table.name)


def _compare(table: Any, parts: list[Part]) -> None:  # noqa: ANN401 - of SQL's package
    ends = {part.seq: part.hash for part in parts}
    whole = table.rows == table.last - table.first + 1
    if not whole or ends.get(table.last) != table.hash:
        files = ", ".join(part.file for part in parts)
        raise LedgerUnreachableError(
            f"{table.name} has {table.rows} events, {table.first} to {table.last}: not what"
            f" {files} ends with: nothing was dropped."
        )


def _prove(parts: Iterable[Part]) -> None:
    for part in parts:
        if digest(part.path()) != part.digest:
            raise LedgerUnreachableError(
                f"{part.path()} is not the file that was written: its SHA-256 is another. The"
                " events are still in the database; put the file back."
            )


def _file(entries: Iterable[Entry], anchor: Entry, file: Path) -> Part:
    """Write a file, read it back from disk and give it its name.

    Raises:
        ChainError: what was read back does not follow from the anchor.
    """
    unnamed = file.with_name(f".{file.name}")
    unnamed.unlink(missing_ok=True)
    write(entries, unnamed)
    sync(unnamed)
    part = read_back(unnamed, anchor, file)
    unnamed.rename(file)  # one of that name, and no row that tells of it, was left by a kill
    sync(file)
    return part
