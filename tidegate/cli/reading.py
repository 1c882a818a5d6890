"""How commands find the ledger and read it: always read-only.

SQL is imported when a ledger is opened, since a command line without it can still do the rest.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol

import typer

from store.archive.archive_format import Archive, is_archive
from tidegate.cli.instance import read_instance
from tidegate.cli.progress import watched
from tidegate.cli.times import parse_utc, utc
from tidegate.contracts.entry import Entry
from tidegate.errors import LedgerUnreachableError, NotSupportedError

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
        help="As it was after this event, or at this time (UTC): 41, 2026-03-02T08:30:00Z.",
        show_default=False,
    ),
]


class Entries(Protocol):
    """The reading side of ``tidegate.bus.ports.Ledger``."""

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """Yield the entries with ``after`` < seq <= ``until``, in order, in constant memory."""
        ...

    def seq_at(self, at_us: int) -> int:
        """Return the seq of the last entry that is not later than a time; 0: there is none."""
        ...


class Reader(NamedTuple):
    """An open ledger: its entries, and its SQL reports."""

    url: str  # for people: without password
    ledger: Entries
    end: int  # seq of the newest entry when it was opened, or as of then; 0: empty
    engine: Any  # for SQL reports, sqlalchemy's, which is imported late; None: there are none

    def entries(self, what: str = "reading") -> Iterator[Entry]:
        """Yield all entries up to the end, showing progress."""
        return watched(self.ledger.read(until=self.end), what, self.end)

    def seq_of(self, text: str, option: str, *, onwards: bool = False) -> int:
        """Return the seq that an option tells: itself, or the last one up to a time.

        ``onwards``: the first one from that time on.

        Raises:
            BadParameter: it is neither, or lies outside the ledger.
        """
        return _seq_of(text, option, self, onwards=onwards)

    def report(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a SQL report.

        Raises:
            UnknownNameError: there is no such report.
        """
        from store.reports import rows  # noqa: PLC0415 - SQL may be absent

        return rows(self.engine, name)

    def statement(self, name: str) -> str:
        """Return the SQL of a report.

        Raises:
            UnknownNameError: there is no such report.
        """
        from store.reports import statement  # noqa: PLC0415 - SQL may be absent

        return statement(self.engine, name)

    def info(self) -> dict[str, Any]:
        """Return what the ledger says of itself."""
        from store.about import about  # noqa: PLC0415 - SQL may be absent

        told = about(self.engine)
        head_us = told.pop("head_us")
        told["ledger"] = self.url
        return {**told, "headAt": None if head_us is None else utc(head_us)}

    def clock_us(self) -> int:
        """Return the time that the database's clock shows, in UTC microseconds."""
        from store.about import clock_us  # noqa: PLC0415 - SQL may be absent

        return clock_us(self.engine)


@contextmanager
def open_reader(url: str, as_of: str = "", *, reports: bool = True) -> Generator[Reader]:
    """Open a ledger read-only: the one named, else the running instance's; or an archive.

    ``as_of`` a seq or a time, everything is read as it was then; without ``reports`` the entries
    alone, which spares making the reports of the past or of an archive.

    Raises:
        BadParameter: ``as_of`` is neither, or lies outside the ledger.
        LedgerUnreachableError: none is named, or it cannot be read by this version.
        NotSupportedError: this installation has no SQL.
    """
    where = url or _of_the_instance()
    with ExitStack() as opened:
        if is_archive(where):
            now = _open_archive(Path(where))
        else:
            now = opened.enter_context(_open_ledger(where))
        then = now._replace(end=now.seq_of(as_of, "--as-of")) if as_of else now
        if reports and (as_of or now.engine is None):
            engine = opened.enter_context(_reports_of(then))
            then = then._replace(engine=engine)
        yield then


@contextmanager
def _open_ledger(where: str) -> Generator[Reader]:
    try:
        from store.access.engine import open_engine, shown  # noqa: PLC0415 - SQL may be absent
        from store.ledger import SqlLedger  # noqa: PLC0415
        from store.schema import check  # noqa: PLC0415
    except ImportError as error:
        raise NotSupportedError(
            f"This installation cannot read a ledger ({error}): pip install 'tidegate[cli]'."
        ) from error
    engine = open_engine(where, read_only=True)
    try:
        check(engine)
        ledger = SqlLedger(engine)
        newest = ledger.newest()
        end = 0 if newest is None else newest.seq
        yield Reader(shown(engine), ledger, end, engine)
    finally:
        engine.dispose()


def _open_archive(path: Path) -> Reader:
    if not path.is_file():
        raise LedgerUnreachableError(f"There is no archive at {path}: check --ledger.")
    archive = Archive(path)
    return Reader(str(path), archive, archive.end(), None)


@contextmanager
def _reports_of(then: Reader) -> Generator[Any]:
    """Lend an engine with the reports as they were, since the database has only today's."""
    from store.as_of import past  # noqa: PLC0415 - SQL may be absent

    with past(then.entries("going back"), then.engine) as engine:
        yield engine


def _seq_of(text: str, option: str, reader: Reader, *, onwards: bool) -> int:
    if text.isdecimal():
        seq = int(text)
    else:
        ledger, at_us = reader.ledger, time_of(text, option)
        seq = ledger.seq_at(at_us - 1) + 1 if onwards else ledger.seq_at(at_us)
    if not 0 < seq <= reader.end:
        raise typer.BadParameter(
            f"{option} {text}: the ledger holds the events from 1 to {reader.end}."
        )
    return seq


def time_of(text: str, option: str) -> int:
    """Return the time that an option tells where it might have told a seq.

    Raises:
        BadParameter: it is none.
    """
    try:
        return parse_utc(text)
    except ValueError:
        raise typer.BadParameter(
            f"{option} {text!r} is neither a seq nor a time such as 2026-03-02T08:30:00Z."
        ) from None


def _of_the_instance() -> str:
    instance = read_instance()
    if instance is None:
        raise LedgerUnreachableError(
            "No ledger is named and no instance was started here: give --ledger URL, set "
            "TIDEGATE_LEDGER, or start one with `tidegate up`."
        )
    return instance.ledger
