"""``tidegate ledger archive``: old events leave the database for a file; nothing is forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from store.archive import parquet
from store.archive.archive_format import SUFFIXES, archive_name, fsync_file, write
from tidegate.cli.commands.ledger.copying import Format, refuse_existing
from tidegate.cli.ledger.partitions import PartitionOption, single_partition_in
from tidegate.cli.ledger.reading import open_reader
from tidegate.cli.output import print_message
from tidegate.cli.progress import with_progress
from tidegate.cli.whole_partitions import archive_anchor, read_verified_part
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
        str,
        typer.Option(
            metavar="SEQ|TIME",
            help="Archive up to this event, this time (UTC) or this long ago.",
        ),
    ],
    ledger: Annotated[
        str,
        typer.Option("--ledger", envvar="TIDEGATE_LEDGER", help="The ledger to archive from."),
    ],
    form: Annotated[
        Format,
        typer.Option("--format", help="The format of the files in a folder: parquet or jsonl."),
    ] = Format.PARQUET,
    partition: PartitionOption = None,
) -> None:
    """Move the oldest events to a file; every command still reads them from there.

    The command checks the hash chain while it writes the file, and again from the file. Only then
    does it delete the events from the database, which keeps the last hash, the file's name and its
    SHA-256. The newest turn stays. The scheduler may keep running. From PostgreSQL the command
    moves the events of whole tables, each to its own file in a folder; if interrupted, it continues
    when run again. Without --partition it archives all partitions of the ledger, each to files of
    its own; from SQLite the first. Keep the files: rebuilding the reports needs them, and so does
    the state if no snapshot can be read. If you move the files, set TIDEGATE_ARCHIVES to their
    folder.

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
        _require_new_place(file, is_folder=by_partition)
        check(engine, writes=True)
        if by_partition:
            limits = _archive_limits(ledger, until, partition)
            _archive_partitions(engine, file.absolute(), _ENDS[form], limits)
        else:
            number = single_partition_in(engine, partition, "ledger archive")
            limits = _archive_limits(ledger, until, number)
            _archive_to_file(engine, file.absolute(), limits[number], _ENDS[form], number)
    finally:
        engine.dispose()


def _require_new_place(file: Path, *, is_folder: bool) -> None:
    if is_folder:
        if not file.is_dir():
            raise typer.BadParameter(
                f"{file} is not a folder: each table of a PostgreSQL ledger's events becomes a "
                "file in a folder."
            )
        return
    if file.is_dir():
        return
    if not file.name.endswith(SUFFIXES):
        raise typer.BadParameter(f"{file} must end in {' or '.join(SUFFIXES)}.")
    refuse_existing(file)


def _archive_limits(ledger: str, until: str, partition: int | None) -> dict[int, int]:
    """Return up to which seq each partition of a ledger is archived: of one, or of all."""
    with open_reader(ledger, partition=partition, reports=False) as reader:
        if until.isdecimal() and not reader.others:
            return {reader.partition: reader.seq_of(until, "--until")}
        at_us = reader.time_of_all(until, "--until")
        if at_us > reader.clock_us():
            raise typer.BadParameter(f"--until {until}: this time has not come yet.")
        return {each.partition: each.ledger.seq_at(at_us) for each in reader.partition_readers()}


def _archive_partitions(
    engine: Any,  # noqa: ANN401 - SQL's
    folder: Path,
    suffix: str,
    limits: dict[int, int],
) -> None:
    from tidegate.cli.whole_partitions import archive_partitions  # noqa: PLC0415

    count = 0
    for part in archive_partitions(engine, folder, suffix, limits):
        of = f" of partition {part.partition}" if len(limits) > 1 else ""
        print_message(f"Events {part.first_seq} to {part.seq}{of} were moved to {part.file}.")
        count += 1
    if not count:
        print_message(f"No table ends at {_ends_text(limits)} or earlier: nothing was archived.")


def _ends_text(limits: dict[int, int]) -> str:
    if len(limits) == 1:
        return f"seq {next(iter(limits.values()))}"
    return ", ".join(f"{partition}/{seq}" for partition, seq in limits.items())


def _archive_to_file(engine: Any, file: Path, until: int, suffix: str, partition: int) -> None:  # noqa: ANN401 - SQL's
    from store.archive import archiving  # noqa: PLC0415
    from store.ledger import SqlLedger  # noqa: PLC0415

    ledger = SqlLedger(engine, partition)
    anchor = archive_anchor(engine, partition)
    last = archiving.last_turn_end(engine, partition, until)
    if last <= anchor.seq:
        raise NotSupportedError(f"There is no whole turn to archive behind seq {anchor.seq}.")
    if file.is_dir():
        file /= archive_name(anchor.seq + 1, last, suffix, partition)
        refuse_existing(file)
    entries = with_progress(ledger.read(anchor.seq, last), "archiving", last - anchor.seq)
    count = write(verify(entries, anchor), file)
    fsync_file(file)
    archiving.archive_range(engine, read_verified_part(file, anchor, file))
    print_message(f"{count} events up to seq {last} were moved to {file}.")
