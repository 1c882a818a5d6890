"""How commands find the ledger and read it: always read-only.

SQL's own library is imported for the reports of the past alone: it loads longer than most answers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol

import typer

from store.archive.archive_format import archive_of, is_archive
from store.reading.about import about, clock_us
from store.reading.database import Database, open_database
from store.reading.entries import Narrow
from store.reading.history import History
from store.reading.kept_states import newest
from store.reading.reports import Within, rows, statement
from store.schema.version import check
from tidegate.cli.instance import read_instance
from tidegate.cli.ledger.moments import seq_in, time_of
from tidegate.cli.progress import watched
from tidegate.cli.times import parse_ago, utc
from tidegate.contracts.entry import Entry, Snapshot
from tidegate.errors import LedgerUnreachableError, NotSupportedError

if TYPE_CHECKING:
    from tidegate.core.state.state import State

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


class Entries(Protocol):
    """The reading side of ``tidegate.bus.ports.Ledger``."""

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """Yield the entries with ``after`` < seq <= ``until``, in order, in constant memory."""
        ...

    def back(self, until: int, rows: int = ..., narrow: Narrow = ...) -> Iterator[Entry]:
        """Yield the entries with seq <= ``until``, newest first; ``narrow`` may be left undone."""
        ...

    def naming(self, texts: Sequence[str], after: int, until: int) -> Iterator[Entry]:
        """Yield the entries after one and until another that name a text, in order, or more."""
        ...

    def seq_at(self, at_us: int) -> int:
        """Return the seq of the last entry that is not later than a time; 0: there is none."""
        ...


class Reports(NamedTuple):
    """SQL reports that can be asked."""

    records: Callable[[str], list[dict[str, Any]]]  # runs a statement: its rows by column
    dialect: str  # sqlite or postgresql


class Reader(NamedTuple):
    """An open ledger: its entries, and its SQL reports."""

    url: str  # for people: without password
    ledger: Entries
    end: int  # seq of the newest entry when it was opened, or as of then; 0: empty
    database: Database | None  # None: an archive
    reports: Reports | None  # None: they were not asked for
    rows_max: int | None = None  # a report of more rows is refused; None: of none
    past: bool = False  # read as it was: nothing goes on there
    past_us: int = 0  # … but up to this time, UTC microseconds; 0: after its newest event

    def entries(self, title: str = "reading", after: int = 0) -> Iterator[Entry]:
        """Yield all entries behind ``after`` up to the end, showing progress."""
        return watched(self.ledger.read(after, self.end), title, self.end - after)

    def start(self, until: int | None = None) -> tuple[State, Entry]:
        """Return the newest state kept up to a seq and its entry; of none, those before all."""
        from tidegate.contracts.chain import GENESIS  # noqa: PLC0415
        from tidegate.core.folding.snapshot import decode  # noqa: PLC0415 - who folds nothing loads no core
        from tidegate.core.state.state import State  # noqa: PLC0415

        snapshot = self._kept(self.end if until is None else until)
        if snapshot is not None:
            for entry in self.ledger.read(snapshot.seq - 1, snapshot.seq):
                return decode(snapshot.state), entry
        return State(), GENESIS

    def submissions(self, name: str) -> Iterator[Entry]:
        """Yield where workloads of a name, or of a job of that name, were submitted, in order."""
        if self.database is None:
            yield from self.entries("looking")
            return
        from store.reading.lives import submissions  # noqa: PLC0415 - few commands ask

        yield from submissions(self.database.select, self.ledger, name, self.end)

    def lives(self, keys: Sequence[str]) -> list[tuple[int, int]]:
        """Return from which seq to which workloads may be named, in order; an archive's whole."""
        if self.database is None:
            return [(1, self.end)]
        from store.reading.lives import lives  # noqa: PLC0415 - as above

        return lives(self.database.select, keys, self.end) or [(1, self.end)]  # rows may expire

    def state(self, title: str = "folding") -> State:
        """Return the state that the ledger gives at its end: folded from the nearest one kept."""
        from tidegate.replay.rebuild import rebuild  # noqa: PLC0415 - see above

        state, head = self.start()
        return rebuild(self.entries(title, head.seq), state, head)[0]

    def _kept(self, until: int) -> Snapshot | None:
        if self.database is None:
            return None
        from tidegate.core.folding.snapshot import VERSION  # noqa: PLC0415 - see above

        return newest(self.database.select, 0, VERSION, until)

    def now_us(self) -> int:
        """Return the time now: of the database's clock, or of an archive's newest event."""
        if self.database is not None:
            return self.clock_us()
        return next((entry.at_us for entry in self.ledger.back(self.end, 1)), 0)

    def first_seq(self, text: str, option: str) -> int:
        """Return the first seq that an option tells; one behind the end: nothing came since.

        Raises:
            BadParameter: it is neither a seq nor a time.
        """
        if text.isdecimal():
            return seq_in(text, option)
        return self.ledger.seq_at(self.moment_us(text, option) - 1) + 1

    def moment_us(self, text: str, option: str) -> int:
        """Return the time that an option tells, in UTC microseconds: a time, or so long ago.

        Raises:
            BadParameter: it is neither.
        """
        ago_us = parse_ago(text)
        return time_of(text, option) if ago_us is None else self.now_us() - ago_us

    def seq_of(self, text: str, option: str, *, onwards: bool = False) -> int:
        """Return the seq that an option tells: itself, or the last one up to a time.

        ``onwards``: the first one from that time on.

        Raises:
            BadParameter: it is neither, or lies outside the ledger.
        """
        if onwards or text.isdecimal():
            seq = self.first_seq(text, option)
        else:
            seq = self.ledger.seq_at(self.moment_us(text, option))
        if not 0 < seq <= self.end:
            raise typer.BadParameter(
                f"{option} {text}: the ledger holds the events from 1 to {self.end}."
            )
        return seq

    def report(
        self,
        name: str,
        only: Mapping[str, str] | None = None,
        within: Within | None = None,
        by: Sequence[str] = (),
    ) -> list[dict[str, Any]]:
        """Return the rows of a SQL report; ``only`` those whose columns have these values.

        ``by`` columns they are added up, with how many ``rows`` each sum is of. Errors are those
        of ``store.reading.reports.rows``.
        """
        assert self.reports is not None, "opened with its reports"
        records, dialect = self.reports
        return rows(records, dialect, name, only or {}, self.rows_max, within, by)

    def statement(self, name: str) -> str:
        """Return the SQL of a report; errors as in ``report``."""
        assert self.reports is not None, "opened with its reports"
        return statement(self.reports.dialect, name)

    def info(self) -> dict[str, Any]:
        """Return what the ledger says of itself; nothing of an archive."""
        if self.database is None:
            return {}
        fields = about(self.database.select, self.database.dialect)
        head_us = fields.pop("head_us")
        return {"ledger": self.url, **fields, "headAt": None if head_us is None else utc(head_us)}

    def clock_us(self) -> int:
        """Return the time that the database's clock shows, in UTC microseconds."""
        assert self.database is not None, "an archive has no clock"
        return clock_us(self.database.select, self.database.dialect)


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
    where = ledger_url(url)
    with ExitStack() as opened:
        if is_archive(where):
            now = _open_archive(Path(where))
        else:
            now = opened.enter_context(_open_ledger(where))
        then = as_it_was(now, as_of, "--as-of") if as_of else now
        if reports and (as_of or now.database is None):
            then = then._replace(reports=opened.enter_context(_reports_of(then)))
        yield then


def as_it_was(now: Reader, text: str, option: str) -> Reader:
    """Return a reader of the past after a seq, or up to a time; errors are ``Reader.seq_of``'s."""
    at_us = 0 if text.isdecimal() else now.moment_us(text, option)
    return now._replace(end=now.seq_of(text, option), past=True, past_us=at_us)


@contextmanager
def _open_ledger(where: str) -> Generator[Reader]:
    try:
        database = open_database(where)
    except ImportError as error:
        raise NotSupportedError(
            f"This installation cannot read a ledger ({error}): pip install 'tidegate[cli]'."
        ) from error
    try:
        check(database.select, database.dialect, database.shown)
        history = History(database.lend)
        last = history.newest()
        end = 0 if last is None else last.seq
        reports = Reports(database.records, database.dialect)
        yield Reader(database.shown, history, end, database, reports)
    finally:
        database.close()


def _open_archive(path: Path) -> Reader:
    if not path.is_file():
        raise LedgerUnreachableError(f"There is no archive at {path}: check --ledger.")
    archive = archive_of(path)
    return Reader(str(path), archive, archive.end(), None, None)


@contextmanager
def _reports_of(then: Reader) -> Generator[Reports]:
    """Lend the reports as they were, since the database has only today's."""
    from store.failures import records  # noqa: PLC0415
    from store.reading.as_of import past  # noqa: PLC0415 - loads the writer's part, and SQL may be absent

    with past(then.entries("going back")) as engine:
        yield Reports(partial(records, engine), "sqlite")


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
