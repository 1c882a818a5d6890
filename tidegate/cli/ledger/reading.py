"""Finds the ledger of a command and opens it, always read-only.

SQL's own library is imported for the reports of the past alone: it loads longer than most answers.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from store.archive.archive_format import archive_of, is_archive
from store.reading.about import partitions
from store.reading.database import open_database
from store.reading.history import LedgerHistory
from store.schema.version import check_schema
from tidegate.cli.instance import read_instance
from tidegate.cli.ledger.partitions import selected_partitions
from tidegate.cli.ledger.reader import Entries, Reader, Reports
from tidegate.errors import LedgerUnreachableError, NotSupportedError

__all__ = [
    "AsOfOption",
    "Entries",
    "LedgerOption",
    "Reader",
    "ledger_url",
    "open_reader",
    "reader_as_of",
    "reports_as_of",
]

LedgerOption = Annotated[
    str,
    typer.Option(
        "--ledger",
        envvar="TIDEGATE_LEDGER",
        help="The ledger: a SQLite file, sqlite:///FILE, postgresql://… or an exported "
        "FILE.jsonl; default: the running instance's.",
        show_default=False,
    ),
]
AsOfOption = Annotated[
    str,
    typer.Option(
        "--as-of",
        metavar="SEQ|TIME",
        help="Show the state after this event, at this time (UTC) or this long ago: 41, "
        "2026-03-02T08:30:00Z, 2h.",
        show_default=False,
    ),
]


@contextmanager
def open_reader(
    url: str, as_of: str = "", partition: int | None = None, *, reports: bool = True
) -> Generator[Reader]:
    """Open a ledger read-only: the one named, else the running instance's; or an archive.

    ``partition`` of it alone; None: the first, with the others beside it.

    ``as_of`` a seq or a time, everything is read as it was then; without ``reports`` the entries
    alone, which spares making the reports of the past or of an archive.

    Raises:
        BadParameter: ``as_of`` is neither, or lies outside the ledger; or it has no such partition.
        LedgerUnreachableError: none is named, or it cannot be read by this version.
        NotSupportedError: this installation has no SQL.
    """
    where = ledger_url(url)
    with ExitStack() as opened:
        if is_archive(where):
            now = _open_archive(Path(where), partition)
        else:
            now = opened.enter_context(_open_ledger(where, partition))
        then = reader_as_of(now, as_of, "--as-of") if as_of else now
        if reports and (as_of or now.database is None):
            past_reports = opened.enter_context(reports_as_of(then))
            others = tuple(other._replace(reports=past_reports) for other in then.others)
            then = then._replace(reports=past_reports, others=others, alone=False)
        yield then


def reader_as_of(now: Reader, text: str, option: str) -> Reader:
    """Return a reader of the past after a seq, or up to a time; errors are ``Reader.seq_of``'s.

    Of several partitions only a time tells how far each of them was.
    """
    if not now.others:
        at_us = 0 if text.isdecimal() else now.moment_us(text, option)
        return now._replace(end=now.seq_of(text, option), past=True, past_us=at_us)
    at_us = now.time_of_all(text, option)
    first, *others = (
        each._replace(end=each.ledger.seq_at(at_us), past=True, past_us=at_us)
        for each in now.partition_readers()
    )
    if not any(each.end for each in (first, *others)):
        raise typer.BadParameter(f"{option} {text}: this was before the ledger's first event.")
    return first._replace(others=tuple(others), alone=False)


@contextmanager
def _open_ledger(where: str, partition: int | None) -> Generator[Reader]:
    try:
        database = open_database(where)
    except ImportError as error:
        raise NotSupportedError(
            f"This installation cannot read a ledger ({error}): pip install 'tidegate[cli]'."
        ) from error
    try:
        check_schema(database.select, database.dialect, database.shown)
        numbers, reports = partitions(database.select), Reports(database.records, database.dialect)
        readers = list[Reader]()
        for number in selected_partitions(numbers, partition):
            history = LedgerHistory(database.lend, number)
            end = history.newest_seq()
            reader = Reader(database.shown, history, end, database, reports, partition=number)
            readers.append(reader._replace(alone=len(numbers) > 1))
        first, *others = readers
        yield first._replace(others=tuple(others), alone=first.alone and not others)
    finally:
        database.close()


def _open_archive(path: Path, partition: int | None) -> Reader:
    if not path.is_file():
        raise LedgerUnreachableError(f"There is no archive at {path}: check --ledger.")
    archive = archive_of(path)
    number = next((entry.partition for entry in archive.read()), 0)
    (number,) = selected_partitions((number,), partition)
    return Reader(str(path), archive, archive.end(), None, None, partition=number)


@contextmanager
def reports_as_of(then: Reader) -> Generator[Reports]:
    """Lend the reports as they were, since the database has only today's."""
    from store.access.engine import select_records  # noqa: PLC0415
    from store.reading.as_of import reports_as_of  # noqa: PLC0415 - loads the writer's part, and SQL may be absent

    with reports_as_of(
        *(each.entries("going back") for each in then.partition_readers())
    ) as engine:
        yield Reports(partial(select_records, engine), "sqlite")


def ledger_url(url: str) -> str:
    """Return the ledger that is meant: the one named, else the running instance's.

    Raises:
        LedgerUnreachableError: none is named, and no instance was started here.
    """
    if url:
        return url
    instance = read_instance()
    if instance is None:
        raise LedgerUnreachableError(
            "No ledger is named and no instance was started here: give --ledger URL, set "
            "TIDEGATE_LEDGER, or start one with `tidegate up`."
        )
    return instance.ledger
