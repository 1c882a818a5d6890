"""``tidegate ledger archive``: old events leave the database for a file; nothing is forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from store.archive import parquet
from store.archive.archive_format import SUFFIXES, name_of, sync, write
from tidegate.cli.commands.ledger.copying import Format, refuse_existing
from tidegate.cli.ledger.archived_parts import anchor_of, read_back
from tidegate.cli.ledger.moments import seq_in, time_of
from tidegate.cli.output import say
from tidegate.cli.progress import watched
from tidegate.core.state.chain import verify
from tidegate.errors import NotSupportedError

_ENDS = {Format.JSONL: ".jsonl.gz", Format.PARQUET: parquet.SUFFIX}


def archive(
    file: Annotated[
        Path,
        typer.Argument(
            help="A folder; for SQLite also FILE.jsonl, FILE.jsonl.gz or FILE.parquet, which must "
            "not exist."
        ),
    ],
    until: Annotated[
        str, typer.Option(metavar="SEQ|TIME", help="Up to this event, or to this time (UTC).")
    ],
    ledger: Annotated[
        str,
        typer.Option("--ledger", envvar="TIDEGATE_LEDGER", help="The ledger that becomes shorter."),
    ],
    form: Annotated[
        Format, typer.Option("--format", help="Of the files in a folder: parquet or jsonl.")
    ] = Format.PARQUET,
) -> None:
    """Move the oldest events to a file, from where every command goes on reading them.

    The chain of hashes is checked while they are written and again from the file; only then do
    they leave the database, which keeps an anchor: the last hash, the file's name and its SHA-256.
    The newest turn stays. Whoever leads may go on meanwhile. From PostgreSQL whole partitions
    leave, each to a file of its own in a folder; one that was broken off is gone on with. Keep the
    files: reports are made again from them, and so is the state if no snapshot can be read.
    TIDEGATE_ARCHIVES names the folder that archives were moved to.

    Examples:
      tidegate ledger archive /archive/2026-02.jsonl.gz --until 2026-03-01 --ledger ledger.db

      tidegate ledger archive /archive --until 2026-03-01 --ledger postgresql://tidegate@db/ledger

      tidegate ledger verify --ledger ledger.db
    """
    from store.access.engine import open_engine  # noqa: PLC0415 - SQL may be absent
    from store.schema.migrate import check  # noqa: PLC0415

    engine = open_engine(ledger)
    try:
        by_partition = engine.dialect.name == "postgresql"
        _demand_place(file, is_folder=by_partition)
        check(engine, writes=True)
        if by_partition:
            _archive_partitions(engine, file.absolute(), _ENDS[form], until)
        else:
            _archive(engine, file.absolute(), until, _ENDS[form])
    finally:
        engine.dispose()


def _demand_place(file: Path, *, is_folder: bool) -> None:
    if is_folder:
        if not file.is_dir():
            raise typer.BadParameter(
                f"{file} is no folder: from PostgreSQL whole partitions leave, each to a file."
            )
        return
    if file.is_dir():
        return
    if not file.name.endswith(SUFFIXES):
        raise typer.BadParameter(f"{file} must end in {' or '.join(SUFFIXES)}.")
    refuse_existing(file)


def _archive_partitions(engine: Any, folder: Path, suffix: str, until: str) -> None:  # noqa: ANN401
    from tidegate.cli.ledger.whole_partitions import archive_partitions  # noqa: PLC0415

    seq, count = _seq(engine, until), 0
    for part in archive_partitions(engine, folder, suffix, seq):
        say(f"The events {part.first_seq} to {part.seq} are in {part.file}, and here no longer.")
        count += 1
    if not count:
        say(f"No partition ends at seq {seq} or before: all stays as it is.")


def _seq(engine: Any, until: str) -> int:  # noqa: ANN401 - SQL's
    from store.ledger import SqlLedger  # noqa: PLC0415

    if until.isdecimal():
        return seq_in(until, "--until")
    return SqlLedger(engine).seq_at(time_of(until, "--until"))


def _archive(engine: Any, file: Path, until: str, suffix: str) -> None:  # noqa: ANN401 - SQL's
    from store.archive import archiving  # noqa: PLC0415
    from store.ledger import SqlLedger  # noqa: PLC0415

    ledger = SqlLedger(engine)
    anchor = anchor_of(engine)
    last = archiving.last_turn(engine, 0, _seq(engine, until))
    if last <= anchor.seq:
        raise NotSupportedError(f"There is no whole turn to archive behind seq {anchor.seq}.")
    if file.is_dir():
        file /= name_of(anchor.seq + 1, last, suffix)
        refuse_existing(file)
    entries = watched(ledger.read(anchor.seq, last), "archiving", last - anchor.seq)
    count = write(verify(entries, anchor), file)
    sync(file)
    archiving.forget(engine, read_back(file, anchor, file))
    say(f"{count} events up to seq {last} are in {file} and no longer in the database.")
