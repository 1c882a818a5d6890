"""How commands find the ledger and read it: always read-only.

SQL is imported when a ledger is opened, since a command line without it can still do the rest.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NamedTuple

import typer

from tidegate.bus.ports import Ledger
from tidegate.cli.instance import read_instance
from tidegate.cli.progress import watched
from tidegate.cli.times import utc
from tidegate.contracts.entry import Entry
from tidegate.errors import LedgerUnreachableError, NotSupportedError

LedgerOption = Annotated[
    str,
    typer.Option(
        "--ledger",
        envvar="TIDEGATE_LEDGER",
        help="The ledger: a SQLite file, sqlite:///FILE or postgresql://…; "
        "default: the running instance's.",
        show_default=False,
    ),
]


class Reader(NamedTuple):
    """An open ledger: its entries, and its SQL reports."""

    url: str  # for people: without password
    ledger: Ledger
    end: int  # seq of the newest entry when it was opened; 0: empty
    engine: Any  # for SQL reports; sqlalchemy's, which is imported late

    def entries(self, what: str = "reading") -> Iterator[Entry]:
        """Yield all entries up to the end, showing progress."""
        return watched(self.ledger.read(until=self.end), what, self.end)

    def report(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a SQL report.

        Raises:
            NotSupportedError: there is no such report.
        """
        from store.reports import rows  # noqa: PLC0415 - SQL may be absent

        return rows(self.engine, name)

    def statement(self, name: str) -> str:
        """Return the SQL of a report.

        Raises:
            NotSupportedError: there is no such report.
        """
        from store.reports import statement  # noqa: PLC0415 - SQL may be absent

        return statement(self.engine, name)

    def info(self) -> dict[str, Any]:
        """Return what the ledger says of itself."""
        from store.about import about  # noqa: PLC0415 - SQL may be absent

        told = about(self.engine)
        head_us = told.pop("head_us")
        return {**told, "headAt": None if head_us is None else utc(head_us)}


@contextmanager
def open_reader(url: str) -> Generator[Reader]:
    """Open a ledger read-only: the one named, else the running instance's.

    Raises:
        LedgerUnreachableError: none is named, or it cannot be read by this version.
        NotSupportedError: this installation has no SQL.
    """
    where = url or _of_the_instance()
    try:
        from store.engine import open_engine, shown  # noqa: PLC0415 - SQL may be absent
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
        yield Reader(shown(engine), ledger, 0 if newest is None else newest.seq, engine)
    finally:
        engine.dispose()


def _of_the_instance() -> str:
    instance = read_instance()
    if instance is None:
        raise LedgerUnreachableError(
            "No ledger is named and no instance was started here: give --ledger URL, set "
            "TIDEGATE_LEDGER, or start one with `tidegate up`."
        )
    return instance.ledger
