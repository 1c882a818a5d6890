"""``tidegate ledger export`` and ``backup``: the history in a file of its own."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.archive import SUFFIXES, write
from tidegate.cli.output import say
from tidegate.cli.reading import LedgerOption, open_reader
from tidegate.errors import NotSupportedError


def export(
    file: Annotated[Path, typer.Argument(help="FILE.jsonl or FILE.jsonl.gz; must not exist.")],
    ledger: LedgerOption = "",
) -> None:
    """Write every event to a file of JSON lines, its chain of hashes included.

    Every reading command takes the file as its --ledger, also `tidegate ledger verify`.

    Examples:
      tidegate ledger export history.jsonl.gz

      tidegate ledger verify --ledger history.jsonl.gz
    """
    if not file.name.endswith(SUFFIXES):
        raise typer.BadParameter(f"{file} must end in {' or '.join(SUFFIXES)}.")
    _refuse_existing(file)
    with open_reader(ledger, reports=False) as reader:
        count = write(reader.entries("exporting"), file)
    say(f"{count} events in {file}.")


def backup(
    file: Annotated[Path, typer.Argument(help="The copy; must not exist.")],
    ledger: LedgerOption = "",
) -> None:
    """Copy a SQLite ledger while it is written to; the copy is a ledger as it was at one moment.

    For PostgreSQL use pg_dump, or `tidegate ledger export`.

    Examples:
      tidegate ledger backup /backup/ledger.db

      tidegate ledger verify --ledger /backup/ledger.db
    """
    _refuse_existing(file)
    with open_reader(ledger, reports=False) as reader:
        if not reader.url.startswith("sqlite:///"):
            raise NotSupportedError(
                f"{reader.url} is no SQLite ledger: use pg_dump, or `tidegate ledger export`."
            )
        source = f"file:{reader.url.removeprefix('sqlite:///')}?mode=ro"
        with (
            closing(sqlite3.connect(source, uri=True)) as here,
            closing(sqlite3.connect(file)) as there,
        ):
            here.backup(there)  # in one step: a writer is not kept waiting, nor its writes mixed in
    say(f"{file} is a copy: tidegate ledger verify --ledger {file}")


def _refuse_existing(file: Path) -> None:
    if file.exists():
        raise typer.BadParameter(f"{file} exists already: remove it or name another file.")
