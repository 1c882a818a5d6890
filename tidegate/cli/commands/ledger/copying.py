"""``tidegate ledger export`` and ``backup``: the history in a file of its own."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from store.archive import parquet
from store.archive.archive_format import LINES, SUFFIXES, write
from tidegate.cli.ledger.from_file import restore_from_file
from tidegate.cli.ledger.partitions import OnePartitionOption, single_partition
from tidegate.cli.ledger.reading import LedgerOption, ledger_url, open_reader
from tidegate.cli.output import print_message

PARQUET = (parquet.SUFFIX,)


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
    """Make sure that a new file overwrites none.

    Raises:
        BadParameter: it exists.
    """
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
