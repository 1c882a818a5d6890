"""``tidegate ledger archive``: old events leave the database for a file; nothing is forgotten."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from store.archive.archive_format import SUFFIXES, Archive, digest, sync, write
from tidegate.cli.commands.ledger.copying import refuse_existing
from tidegate.cli.ledger.moments import seq_in, time_of
from tidegate.cli.output import say
from tidegate.cli.progress import watched
from tidegate.contracts.entry import Entry
from tidegate.core.state.chain import GENESIS, verify
from tidegate.errors import NotSupportedError


def archive(
    file: Annotated[Path, typer.Argument(help="FILE.jsonl or FILE.jsonl.gz; must not exist.")],
    until: Annotated[
        str, typer.Option(metavar="SEQ|TIME", help="Up to this event, or to this time (UTC).")
    ],
    ledger: Annotated[
        str,
        typer.Option("--ledger", envvar="TIDEGATE_LEDGER", help="The ledger that becomes shorter."),
    ],
) -> None:
    """Move the oldest events to a file, from where every command goes on reading them.

    The chain of hashes is checked while they are written and again from the file; only then are
    they deleted, and the ledger keeps an anchor: the last hash, the file's name and its SHA-256.
    The newest turn stays. Whoever leads may go on meanwhile. Keep the file: reports are made again
    from it, and so is the state if no snapshot can be read. TIDEGATE_ARCHIVES names the folder
    that archives were moved to.

    Examples:
      tidegate ledger archive /archive/2026-02.jsonl.gz --until 2026-03-01 --ledger ledger.db

      tidegate ledger verify --ledger ledger.db
    """
    from store.access.engine import open_engine  # noqa: PLC0415 - SQL may be absent
    from store.schema.migrate import check  # noqa: PLC0415

    if not file.name.endswith(SUFFIXES):
        raise typer.BadParameter(f"{file} must end in {' or '.join(SUFFIXES)}.")
    refuse_existing(file)
    engine = open_engine(ledger)
    try:
        check(engine, writes=True)
        count, last = _archive(engine, file.absolute(), until)
    finally:
        engine.dispose()
    say(f"{count} events up to seq {last} are in {file} and no longer in the database.")


def _archive(engine: Any, file: Path, until: str) -> tuple[int, int]:  # noqa: ANN401 - SQL's
    from store.archive import archive_ranges, archiving  # noqa: PLC0415
    from store.failures import selecting  # noqa: PLC0415
    from store.ledger import SqlLedger  # noqa: PLC0415

    ledger = SqlLedger(engine)
    with selecting(engine) as select:
        held = archive_ranges.parts(select, 0)
    anchor = held[-1].anchor() if held else GENESIS
    seq = (
        seq_in(until, "--until") if until.isdecimal() else ledger.seq_at(time_of(until, "--until"))
    )
    last = archiving.last_turn(engine, 0, seq)
    if last <= anchor.seq:
        raise NotSupportedError(f"There is no whole turn to archive behind seq {anchor.seq}.")
    told = watched(ledger.read(anchor.seq, last), "archiving", last - anchor.seq)
    count = write(verify(told, anchor), file)
    sync(file)
    end = _last(verify(Archive(file).read(), anchor))
    part = archive_ranges.Part(
        partition=end.partition,
        seq=end.seq,
        first_seq=anchor.seq + 1,
        epoch=end.epoch,
        turn=end.turn,
        at_us=end.at_us,
        hash=end.hash,
        opened="",
        file=str(file),
        digest=digest(file),
    )
    archiving.forget(engine, part)
    return count, end.seq


def _last(entries: Iterable[Entry]) -> Entry:
    end = GENESIS
    for entry in entries:
        end = entry
    return end
