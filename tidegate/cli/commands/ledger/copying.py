"""``tidegate ledger export`` and ``backup``: the history in a file of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from enum import StrEnum
from itertools import chain, groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from store.archive import parquet
from store.archive.archive_format import LINES, SUFFIXES, write
from tidegate.cli.ledger.partitions import OnePartitionOption, single_partition
from tidegate.cli.ledger.reading import LedgerOption, ledger_url, open_reader
from tidegate.cli.output import print_message
from tidegate.cli.progress import with_progress
from tidegate.contracts.chain import GENESIS, verify
from tidegate.contracts.entry import Entry, Positions
from tidegate.errors import LedgerUnreachableError, NotSupportedError

PARQUET = (parquet.SUFFIX,)
HOLDER, LEASE_US = "restore", 60_000_000
PAGE_ROWS = 1_000


class Format(StrEnum):
    """The forms that ``export`` writes."""

    JSONL = "jsonl"
    PARQUET = "parquet"


def export(
    file: Annotated[
        Path, typer.Argument(help="FILE.jsonl, FILE.jsonl.gz or FILE.parquet; must not exist.")
    ],
    form: Annotated[
        Format | None,
        typer.Option("--format", help="jsonl or parquet; default: from the file's name."),
    ] = None,
    partition: OnePartitionOption = None,
    ledger: LedgerOption = "",
) -> None:
    """Write all events with their hash chain to a file.

    Every command that only reads accepts the file as --ledger, including `tidegate ledger verify`.
    Parquet files also suit analytics tools; they need the extra `parquet`. A file holds one
    partition.

    Examples:
      tidegate ledger export history.jsonl.gz

      tidegate ledger verify --ledger history.jsonl.gz

      tidegate ledger export history.parquet
    """
    chosen = form or (Format.PARQUET if file.name.endswith(PARQUET) else Format.JSONL)
    suffixes = LINES if chosen is Format.JSONL else PARQUET
    if not file.name.endswith(suffixes):
        raise typer.BadParameter(f"{file} must end in {' or '.join(suffixes)}.")
    refuse_existing(file)
    with open_reader(ledger, partition=partition, reports=False) as reader:
        entries = single_partition(reader, "ledger export").entries("exporting")
        count = write(entries, file)
    print_message(f"{count} events in {file}.")


def backup(
    copy: Annotated[
        str, typer.Argument(help="A new file, FILE.jsonl.gz, or an empty database's URL.")
    ],
    ledger: LedgerOption = "",
) -> None:
    """Copy a ledger, consistently even while a scheduler writes to it.

    The command copies a ledger in PostgreSQL into a SQLite file from one snapshot (REPEATABLE
    READ). To restore a backup or an exported FILE.jsonl.gz, copy it into a new file or an empty
    PostgreSQL database. The command checks the whole source file before it writes.

    Examples:
      tidegate ledger backup /backup/ledger.db

      tidegate ledger verify --ledger /backup/ledger.db

      tidegate ledger backup postgresql://tidegate@db/restored --ledger /backup/ledger.db

      tidegate ledger backup restored.db --ledger history.jsonl.gz
    """
    if copy.endswith(SUFFIXES):
        export(Path(copy), ledger=ledger)
        return
    if "://" not in copy:
        refuse_existing(Path(copy))
    with open_reader(ledger, reports=False) as reader:
        if reader.database is None:
            restore_from_file(reader.ledger, copy)
        elif "://" not in copy and reader.url.startswith("sqlite:///"):
            _copy_file(reader.url.removeprefix("sqlite:///"), Path(copy))
        else:
            _copy_rows(ledger_url(ledger), copy)
    print_message(f"{copy} is a copy: tidegate ledger verify --ledger {copy}")


def refuse_existing(file: Path) -> None:
    """Make sure that a new file overwrites none."""
    if file.exists():
        raise typer.BadParameter(f"{file} already exists: remove it or name another file.")


def _copy_file(source: str, file: Path) -> None:
    file.touch()  # SQLite would not say why it cannot make the file
    with (
        closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as connection,
        closing(sqlite3.connect(file)) as copied_to,
    ):
        connection.backup(
            copied_to
        )  # in one step: a writer is not kept waiting, nor its writes mixed in


def _copy_rows(source: str, target: str) -> None:
    from store.access.engine import open_engine  # noqa: PLC0415
    from store.reading.copying import copy_ledger  # noqa: PLC0415 - SQL may be absent

    engine, target_engine = open_engine(source, read_only=True), open_engine(target)
    try:
        copy_ledger(engine, target_engine)
    finally:
        target_engine.dispose()
        engine.dispose()


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
    from store.ledger import SqlLedger, end_term  # noqa: PLC0415
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
    for entry in verify(chain([first], entries)):
        end = entry
    return end


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
