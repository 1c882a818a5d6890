"""``tidegate ledger archive``: old events leave the database for a file; nothing is forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from store.archive import parquet
from store.archive.archive_format import SUFFIXES, name_of, sync, write
from tidegate.cli.archiving.archived_parts import anchor_of, read_back
from tidegate.cli.commands.ledger.copying import Format, refuse_existing
from tidegate.cli.ledger.moments import seq_in, time_of
from tidegate.cli.ledger.partitions import OnePartitionOption, one_in
from tidegate.cli.output import say
from tidegate.cli.progress import watched
from tidegate.contracts.chain import verify
from tidegate.errors import NotSupportedError

_ENDS = {Format.JSONL: ".jsonl.gz", Format.PARQUET: parquet.SUFFIX}


def archive(
    file: Annotated[
        Path,
        typer.Argument(
            help="A folder; for SQLite also a new FILE.jsonl, FILE.jsonl.gz or FILE.parquet."
        ),
    ],
    until: Annotated[
        str, typer.Option(metavar="SEQ|TIME", help="Archive up to this event or time (UTC).")
    ],
    ledger: Annotated[
        str,
        typer.Option("--ledger", envvar="TIDEGATE_LEDGER", help="The ledger to archive from."),
    ],
    form: Annotated[
        Format,
        typer.Option("--format", help="The format of the files in a folder: parquet or jsonl."),
    ] = Format.PARQUET,
    partition: OnePartitionOption = None,
) -> None:
    """Move the oldest events to a file; every command still reads them from there.

    The command checks the hash chain while it writes the file, and again from the file. Only then
    does it delete the events from the database, which keeps the last hash, the file's name and its
    SHA-256. The newest turn stays. The scheduler may keep running. From PostgreSQL the command
    moves whole partitions, each to its own file in a folder; if interrupted, it continues when run
    again. Keep the files: rebuilding the reports needs them, and so does the state if no snapshot
    can be read. If you move the files, set TIDEGATE_ARCHIVES to their folder.

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
            _refuse_several(engine)
            _archive_partitions(engine, file.absolute(), _ENDS[form], until)
        else:
            number = one_in(engine, partition, "ledger archive")
            _archive(engine, file.absolute(), until, _ENDS[form], number)
    finally:
        engine.dispose()


def _refuse_several(engine: Any) -> None:  # noqa: ANN401 - SQL's
    """Make sure that a table which leaves PostgreSQL holds the events of one ledger partition.

    Raises:
        NotSupportedError: the ledger has several: their seqs are in the same tables.
    """
    from store.failures import selecting  # noqa: PLC0415 - SQL may be absent
    from store.reading.about import partitions  # noqa: PLC0415

    with selecting(engine) as select:
        count = len(partitions(select))
    if count > 1:
        raise NotSupportedError(
            f"This ledger has {count} partitions, and each of PostgreSQL's tables holds events of "
            "all of them: `ledger archive` cannot take such tables away yet."
        )


def _demand_place(file: Path, *, is_folder: bool) -> None:
    if is_folder:
        if not file.is_dir():
            raise typer.BadParameter(
                f"{file} is not a folder: each partition of a PostgreSQL ledger becomes a "
                "file in a folder."
            )
        return
    if file.is_dir():
        return
    if not file.name.endswith(SUFFIXES):
        raise typer.BadParameter(f"{file} must end in {' or '.join(SUFFIXES)}.")
    refuse_existing(file)


def _archive_partitions(engine: Any, folder: Path, suffix: str, until: str) -> None:  # noqa: ANN401
    from tidegate.cli.archiving.whole_partitions import archive_partitions  # noqa: PLC0415

    seq, count = _seq(engine, until), 0
    for part in archive_partitions(engine, folder, suffix, seq):
        say(f"Events {part.first_seq} to {part.seq} were moved to {part.file}.")
        count += 1
    if not count:
        say(f"No partition ends at seq {seq} or earlier: nothing was archived.")


def _seq(engine: Any, until: str, partition: int = 0) -> int:  # noqa: ANN401 - SQL's
    from store.ledger import SqlLedger  # noqa: PLC0415

    if until.isdecimal():
        return seq_in(until, "--until")
    return SqlLedger(engine, partition).seq_at(time_of(until, "--until"))


def _archive(engine: Any, file: Path, until: str, suffix: str, partition: int) -> None:  # noqa: ANN401 - SQL's
    from store.archive import archiving  # noqa: PLC0415
    from store.ledger import SqlLedger  # noqa: PLC0415

    ledger = SqlLedger(engine, partition)
    anchor = anchor_of(engine, partition)
    last = archiving.last_turn(engine, partition, _seq(engine, until, partition))
    if last <= anchor.seq:
        raise NotSupportedError(f"There is no whole turn to archive behind seq {anchor.seq}.")
    if file.is_dir():
        file /= name_of(anchor.seq + 1, last, suffix)
        refuse_existing(file)
    entries = watched(ledger.read(anchor.seq, last), "archiving", last - anchor.seq)
    count = write(verify(entries, anchor), file)
    sync(file)
    archiving.forget(engine, read_back(file, anchor, file))
    say(f"{count} events up to seq {last} were moved to {file}.")
