"""``tidegate ledger sample``: a small ledger to try the commands on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tidegate.cli.commands.ledger.copying import refuse_existing
from tidegate.cli.output import print_message
from tidegate.cli.times import parse_time_option
from tidegate.contracts.entry import Entry

DAYS_MAX = 3_653
"""Days that a sample may last: ten years, which are written in a minute or two."""


def sample(
    file: Annotated[Path, typer.Argument(help="The new file for the ledger.")],
    until: Annotated[
        str,
        typer.Option(metavar="TIME", help="The end of its last job; default: on 2 March 2026."),
    ] = "",
) -> None:
    """Write a small sample ledger for trying the commands; it is the same each time.

    Two teams share a cohort. The ledger has admissions, borrowing, a preemption, and a job that
    never fits. The scheduler's own code decided it, so `tidegate ledger verify` succeeds.

    Examples:
      tidegate ledger sample /tmp/sample.db

      tidegate why job/train -n a --ledger /tmp/sample.db
    """
    from tidegate.cli.sample.ledger import sample_turns  # noqa: PLC0415 - only this command needs the core

    refuse_existing(file)
    written = _write_ledger(file, sample_turns(_parse_until(until) if until else 0))
    print_message(f"{written} events. Try: tidegate show queues --ledger {file}")


def _parse_until(until: str) -> int:
    from tidegate.cli.sample.story import DAY_US, START_US  # noqa: PLC0415

    until_us = parse_time_option(until, "--until")
    if until_us < START_US + DAY_US:
        raise typer.BadParameter(
            "--until is of 3 March 2026 or later: the story has ended by then."
        )
    if until_us > START_US + DAYS_MAX * DAY_US:
        raise typer.BadParameter(
            f"--until is at most {DAYS_MAX} days after the story's beginning, for the ledger has"
            " rows of each hour."
        )
    return until_us


def _write_ledger(file: Path, turns: Iterator[list[Entry]]) -> int:
    from store.access.engine import open_engine  # noqa: PLC0415 - SQL may be absent
    from store.ledger import SqlLedger  # noqa: PLC0415
    from store.schema.migrate import upgrade  # noqa: PLC0415
    from tidegate.contracts.entry import Positions  # noqa: PLC0415

    engine = open_engine(str(file))
    try:
        upgrade(engine)
        ledger = SqlLedger(engine, clock_us=lambda: 0)
        term = ledger.begin_term("sample", 0)
        assert term is not None, "no other process writes a new file"
        seq = 0
        for entries in turns:
            ledger.append(term.epoch, seq, entries, Positions())
            seq = entries[-1].seq
    finally:
        engine.dispose()
    return seq
