"""Making a statement of a ledger, and comparing one with what the ledger says today."""

from __future__ import annotations

import math
from calendar import monthrange
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

import typer

from store.reading.entries import PAGE_ROWS, EntryFilter
from tidegate.cli.ledger.narrowing import Span, time_filter
from tidegate.cli.ledger.partitions import event_name, merge_by_time
from tidegate.cli.ledger.reading import Reader, reader_as_of, reports_as_of
from tidegate.cli.proving.checkpoints import Claim
from tidegate.cli.statements import focus
from tidegate.cli.statements.document import Statement, StatementError
from tidegate.cli.times import parse_utc, utc
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.contracts.fact_kinds.definitions import ClusterQueueDefined
from tidegate.errors import NotSupportedError, UnknownNameError

CHARGEBACK = "chargeback"
_NOTHING = (0.0, 0.0)
_CLOSE = 1e-6
"""By how much of itself an amount may differ: two databases add up in another order."""


class Closing(NamedTuple):
    """The event that closed a month."""

    partition: int  # whose seq it is
    seq: int
    at: str  # UTC
    author: str  # empty: no policy stamped the user
    digest: str


def month_span(month: str) -> Span:
    """Return the time of a month such as ``2026-03``, in UTC."""
    try:
        first = date.fromisoformat(f"{month}-01")
        days = timedelta(days=monthrange(first.year, first.month)[1])
        begin = datetime.combine(first, time(), UTC)
        return Span(parse_utc(begin.isoformat()), parse_utc((begin + days).isoformat()))
    except (ValueError, OverflowError):  # there is no month behind the last of year 9999
        raise typer.BadParameter(f"{month!r} is not a month such as 2026-03.") from None


def make_statement(reader: Reader, claim: Claim, month: str, queue: str) -> Statement:
    """Return a ClusterQueue's usage and costs of a month, as of a ledger's head.

    Raises:
        NotSupportedError: the month is not over in this ledger, or was before it began.
        UnknownNameError: the ledger tells of no such ClusterQueue.
    """
    span = month_span(month)
    assert span.end_us is not None, "a month ends"
    if claim.at_us < span.end_us:
        raise NotSupportedError(
            f"{month} is not over in this ledger: its newest event is of {utc(claim.at_us)}."
        )
    if first_event_us(reader) >= span.end_us:
        raise NotSupportedError(
            f"{month} was over before this ledger began, at {utc(first_event_us(reader))}."
        )
    if not any(True for _ in _definitions(reader, queue)):
        raise UnknownNameError(f"There is no ClusterQueue {queue!r}: tidegate show queues.")
    rows = tuple(_rows(reader, span, queue))
    return Statement(
        ledger_id=claim.ledger_id,
        cluster=claim.cluster,
        partition=claim.partition,
        cluster_queue=queue,
        month=month,
        begin=utc(span.begin_us),
        end=utc(span.end_us),
        seq=claim.seq,
        hash=claim.hash,
        at=utc(claim.at_us),
        totals=focus.totals(rows),
        unpriced=focus.unpriced(rows),
        rows=rows,
    )


def reader_of_queue(reader: Reader, queue: str) -> Reader:
    """Return the reader of the partition that defined a ClusterQueue last; of none, the first.

    Beside it are those that the ClusterQueue was in before. Its reports are narrowed down by the
    ClusterQueue: they need not be by the partition.
    """
    if not reader.others:
        return reader
    numbers = [entry.partition for entry, _ in _definitions(reader, queue)]
    readers = {each.partition: each for each in reader.partition_readers()}
    last, *earlier = dict.fromkeys(reversed(numbers)) or readers
    others = tuple(readers[number] for number in earlier) if numbers else ()
    return readers[last]._replace(others=others, alone=False)


@contextmanager
def reader_as_of_statement(reader: Reader, statement: Statement) -> Generator[Reader]:
    """Lend the ledger as it was for a statement: up to its seq, and other partitions up to then.

    Raises:
        BadParameter: it does not reach the seq.
    """
    readers = {each.partition: each for each in reader.partition_readers()}
    own = readers.pop(statement.partition, None)
    if own is None:
        raise StatementError(f"This ledger has no partition {statement.partition}.")
    then = reader_as_of(own, str(statement.seq), "--as-of")
    at_us = next((entry.at_us for entry in then.ledger.back(then.end, 1)), 0)
    others = (each._replace(end=each.ledger.seq_at(at_us), past=True) for each in readers.values())
    then = then._replace(others=tuple(others), alone=False)
    with reports_as_of(then) as reports:
        yield then._replace(reports=reports)


def first_event_us(reader: Reader) -> int:
    """Return the time of a ledger's first event, in UTC microseconds."""
    firsts = (entry for each in reader.partition_readers() for entry in each.ledger.read(0, 1))
    return min((entry.at_us for entry in firsts), default=0)


def require_matching_ledger(reader: Reader, statement: Statement, *, several: bool = False) -> None:
    """Make sure that a ledger, read as of a statement's seq, gives what the statement says.

    ``several``: the ledger has several partitions, of which each has seqs of its own.
    """
    for entry in reader.ledger.read(statement.seq - 1, statement.seq):
        if entry.hash.hex() != statement.hash:
            name = event_name(statement.partition, statement.seq, several=several)
            raise StatementError(f"seq {name} of this ledger has another hash.")
    then = list(_rows(reader, month_span(statement.month), statement.cluster_queue))
    now, stated = focus.usage_and_cost(then), focus.usage_and_cost(statement.rows)
    for key in sorted({*now, *stated}):
        recorded, is_so = stated.get(key, _NOTHING), now.get(key, _NOTHING)
        for name, right, other in zip(("", "the price "), is_so, recorded, strict=True):
            if not math.isclose(right, other, rel_tol=_CLOSE):
                where = ", ".join(filter(None, key))
                raise StatementError(
                    f"The statement says {name}{other} for {where}, and the ledger {right}."
                )
    _refuse_wrong_sums(statement)


def closing_events(reader: Reader, month: str, queue: str) -> list[Closing]:
    """Return the events that closed a ClusterQueue's month, the oldest first: the first counts.

    A definition that repeats the one before closes nothing anew.
    """
    matching = list[Closing]()
    for entry, event in _definitions(reader, queue):
        text, _, digest = event.statement.partition("=")
        if text == month and (not matching or matching[-1].digest != digest):
            matching.append(
                Closing(entry.partition, entry.seq, utc(entry.at_us), event.author, digest)
            )
    return matching


def _definitions(reader: Reader, queue: str) -> Iterator[tuple[Entry, ClusterQueueDefined]]:
    """Yield what defined a ClusterQueue, in the order of time."""
    narrow = EntryFilter(types=frozenset((ClusterQueueDefined.__name__,)))
    newest_first = (
        list(each.ledger.back(each.end, PAGE_ROWS, narrow)) for each in reader.partition_readers()
    )
    for entry in merge_by_time(*map(reversed, newest_first)):
        if entry.type == ClusterQueueDefined.__name__:
            event = decode(entry.payload)
            if isinstance(event, ClusterQueueDefined) and event.name == queue:
                yield entry, event


def _rows(reader: Reader, span: Span, queue: str) -> Iterator[focus.Row]:
    assert span.end_us is not None, "a month ends"
    begin, end = utc(span.begin_us), utc(span.end_us)
    for row in reader.report(CHARGEBACK, {"cluster_queue": queue}, time_filter(span)):
        day = date.fromisoformat(row["day"]) + timedelta(days=1)
        yield focus.focus_row(row, begin, end, f"{day.isoformat()}T00:00:00Z")


def _refuse_wrong_sums(statement: Statement) -> None:
    for row in statement.rows:
        if row["BilledCost"] is not None:
            cost = focus.amount_in_column(row, "ConsumedQuantity") * focus.amount_in_column(
                row, "ListUnitPrice"
            )
            if not math.isclose(cost, focus.amount_in_column(row, "BilledCost"), rel_tol=_CLOSE):
                raise StatementError(f"{row['BilledCost']} is not what {row['SkuId']} costs.")
    if (
        focus.totals(statement.rows) != statement.totals
        or focus.unpriced(statement.rows) != statement.unpriced
    ):
        raise StatementError("The statement's totals are not the sums of its rows.")
