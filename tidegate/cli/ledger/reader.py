"""An open ledger as commands see it: its entries, its states and its SQL reports.

A reader is of one partition; where a ledger has several, ``partition_readers`` gives one of every
partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import typer
from msgspec.structs import replace

from store.reading.about import clock_us, is_led, ledger_info
from store.reading.database import Database
from store.reading.entries import EntryFilter
from store.reading.kept_states import newest_snapshot
from store.reading.reports import TimeRange, report_rows, statement
from tidegate.cli.progress import with_progress
from tidegate.cli.times import parse_age, parse_seq, parse_time_option, utc
from tidegate.contracts.chain import GENESIS
from tidegate.contracts.entry import Entry, Snapshot

if TYPE_CHECKING:
    from tidegate.core.state.state import State


class Entries(Protocol):
    """The reading side of ``tidegate.bus.ports.Ledger``."""

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """Yield the entries with ``after`` < seq <= ``until``, in order, in constant memory."""
        ...

    def back(self, until: int, rows: int = ..., narrow: EntryFilter = ...) -> Iterator[Entry]:
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
    partition: int = 0  # whose entries and states they are
    alone: bool = False  # its reports are of its partition, though the ledger has several
    others: tuple[Reader, ...] = ()  # of the other partitions that are asked about, in order

    def partition_readers(self) -> tuple[Reader, ...]:
        """Return a reader of every partition that is asked about, in order."""
        if not self.others:
            return (self,)
        return self._replace(alone=True, others=()), *self.others

    def entries(self, title: str = "reading", after: int = 0) -> Iterator[Entry]:
        """Yield all entries behind ``after`` up to the end, showing progress."""
        return with_progress(self.ledger.read(after, self.end), title, self.end - after)

    def start_state(self, until: int | None = None) -> tuple[State, Entry]:
        """Return the newest state kept up to a seq and its entry; of none, those before all."""
        from tidegate.core.folding.snapshot import decode  # noqa: PLC0415 - the core, where nothing is folded

        snapshot = self._newest_snapshot(self.end if until is None else until)
        if snapshot is not None:
            for entry in self.ledger.read(snapshot.seq - 1, snapshot.seq):
                return decode(snapshot.state), entry
        return self.initial_state()

    def initial_state(self) -> tuple[State, Entry]:
        """Return the state before the first event, and the entry that it follows."""
        from tidegate.core.state.state import State  # noqa: PLC0415 - see above

        return State(), replace(GENESIS, partition=self.partition)

    def submissions(self, name: str, namespace: str = "") -> Iterator[Entry]:
        """Yield where workloads of a name, or of a job of that name, were submitted, in order.

        ``namespace``: where they are; those of others may come, too.
        """
        del namespace
        if self.database is None:
            yield from self.entries("looking")
            return
        from store.reading.lives import submissions  # noqa: PLC0415 - few commands ask

        select = self.database.select
        yield from submissions(select, self.ledger, name, self.end, self.partition)

    def seq_ranges(self, keys: Sequence[str]) -> list[tuple[int, int]]:
        """Return from which seq to which workloads may be named, in order; an archive's whole."""
        if self.database is None:
            return [(1, self.end)]
        from store.reading.lives import workload_lifetimes  # noqa: PLC0415 - as above

        spans = workload_lifetimes(self.database.select, keys, self.end, self.partition)
        return spans or [(1, self.end)]  # rows may expire

    def state(self, title: str = "folding") -> State:
        """Return the state that the ledger gives at its end: folded from the nearest one kept."""
        from tidegate.replay.rebuild import rebuild  # noqa: PLC0415 - see above

        state, head = self.start_state()
        return rebuild(self.entries(title, head.seq), state, head)[0]

    def _newest_snapshot(self, until: int) -> Snapshot | None:
        if self.database is None:
            return None
        from tidegate.core.folding.snapshot import VERSION  # noqa: PLC0415 - see above

        return newest_snapshot(self.database.select, self.partition, VERSION, until)

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
            return parse_seq(text, option)
        return self.ledger.seq_at(self.moment_us(text, option) - 1) + 1

    def moment_us(self, text: str, option: str) -> int:
        """Return the time that an option tells, in UTC microseconds: a time, or so long ago.

        Raises:
            BadParameter: it is neither.
        """
        ago_us = parse_age(text)
        return parse_time_option(text, option) if ago_us is None else self.now_us() - ago_us

    def time_of_all(self, text: str, option: str) -> int:
        """Return the time that an option tells about several partitions, in UTC microseconds."""
        if text.isdecimal():
            raise typer.BadParameter(
                f"{option} {text}: this ledger has {len(self.partition_readers())} partitions, and "
                "each counts its own seqs: give a time, or --partition as well."
            )
        return self.moment_us(text, option)

    def seq_of(self, text: str, option: str, *, onwards: bool = False) -> int:
        """Return the seq that an option tells: itself, or the last one up to a time.

        ``onwards``: the first one from that time on.
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
        within: TimeRange | None = None,
        by: Sequence[str] = (),
    ) -> list[dict[str, Any]]:
        """Return the rows of a SQL report; ``only`` those whose columns have these values.

        ``by`` columns they are added up, with how many ``rows`` each sum is of. Errors are those
        of ``store.reading.reports.report_rows``.
        """
        assert self.reports is not None, "opened with its reports"
        records, dialect = self.reports
        of = self.partition if self.alone else None
        return report_rows(records, dialect, name, only or {}, self.rows_max, within, by, of)

    def statement(self, name: str) -> str:
        """Return the SQL of a report; errors as in ``report``."""
        assert self.reports is not None, "opened with its reports"
        return statement(self.reports.dialect, name)

    def info(self) -> dict[str, Any]:
        """Return the ledger's data about itself; none for an archive."""
        if self.database is None:
            return {}
        fields = ledger_info(self.database.select, self.database.dialect, self.partition)
        head_us = fields.pop("head_us")
        return {"ledger": self.url, **fields, "headAt": None if head_us is None else utc(head_us)}

    def clock_us(self) -> int:
        """Return the time that the database's clock shows, in UTC microseconds."""
        assert self.database is not None, "an archive has no clock"
        return clock_us(self.database.select, self.database.dialect)


def lag_us(reader: Reader) -> int:
    """Return how far the clock is ahead of the newest event, where what lasts goes on; else 0.

    Time goes on while a scheduler leads, and up to a time of the past that events follow. It stands
    still in a ledger without a writer, and in the past after one of its events.
    """
    database = reader.database
    if database is None or not reader.end or (reader.past and not reader.past_us):
        return 0
    select, partition = database.select, reader.partition
    if not is_led(select, database.dialect, partition) and not _is_followed(reader, database):
        return 0
    newest = _end_us(reader, database)
    now_us = reader.clock_us()
    return max(0, (min(now_us, reader.past_us) if reader.past else now_us) - newest)


def _end_us(reader: Reader, database: Database) -> int:
    """Return the time of the newest entry; its content is read only from an archive file."""
    query = "SELECT at_us FROM ledger_event WHERE partition = :partition AND seq = :seq"
    rows = database.select(query, partition=reader.partition, seq=reader.end)
    return int(rows[0][0]) if rows else next(reader.ledger.back(reader.end, 1)).at_us


def _is_followed(reader: Reader, database: Database) -> bool:
    following = "SELECT 1 FROM ledger_event WHERE partition = :partition AND seq = :seq"
    at = {"partition": reader.partition, "seq": reader.end + 1}
    return reader.past and bool(database.select(following, **at))
