"""Pieces of SQL that the reports share."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import CTE, BigInteger, ColumnElement, Double, and_, case, cast, literal, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from store.statements.clock import HOUR_US
from store.tables import ledger_event, ledger_writer


def units(resource: ColumnElement[Any], amount: ColumnElement[Any]) -> ColumnElement[float]:
    """Return base units as people count: CPU in cores, the rest in its own unit."""
    exact = cast(amount, Double)
    return case((resource == "cpu", per(exact, literal(1000.0))), else_=exact)


def per(dividend: ColumnElement[Any], right: ColumnElement[Any]) -> ColumnElement[Any]:
    """Divide two doubles, without the cast that SQLAlchemy adds for integers."""
    return dividend.op("/", precedence=8, return_type=Double())(right)


def seconds(duration_us: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return microseconds as seconds."""
    return per(cast(duration_us, Double), literal(1_000_000.0))


def hour_of(at_us: ColumnElement[Any]) -> ColumnElement[int]:
    """Return the beginning of the hour that holds a time."""
    return at_us - at_us % literal(HOUR_US, BigInteger)


def smaller(first: ColumnElement[Any], right: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return the smaller of two values, neither of them NULL."""
    return case((first < right, first), else_=right)


def larger(first: ColumnElement[Any], right: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return the larger of two values, neither of them NULL."""
    return case((first > right, first), else_=right)


def same(row: Any, other: Any, names: str) -> ColumnElement[bool]:  # noqa: ANN401 - two tables' columns
    """Return whether two rows agree in columns; ``a=b`` compares the first's a to the other's b."""
    pairs = (name.partition("=") for name in names.split())
    return and_(*(row[name] == other[other_name or name] for name, _, other_name in pairs))


def is_local_queue(row: Any, workload: Any) -> ColumnElement[bool]:  # noqa: ANN401 - two tables' columns
    """Return whether a row of ``report_queue`` is a workload's LocalQueue, as it is now."""
    return and_(
        row.partition == workload.partition,
        row.kind == "LocalQueue",
        row.owner == workload.namespace + "/" + workload.local_queue,
        row.to_seq.is_(None),
    )


class one_of(FunctionElement[bool]):  # noqa: N801 - an SQL function
    """Whether a text is in a JSON list, which is one parameter at any length.

    With IN each length of the list would be another statement, to be put together and planned. It
    has no type: behind a Boolean SQLAlchemy writes ``= 1`` for SQLite, which then uses no index.
    """

    inherit_cache = True

    def __init__(self, text: ColumnElement[Any], listed: ColumnElement[Any]) -> None:
        super().__init__(text, listed)


@compiles(one_of, "sqlite")
def _one_of_sqlite(element: one_of, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401
    text, listed = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{text} IN (SELECT value FROM json_each({listed}))"  # noqa: S608 - compiled clauses


@compiles(one_of, "postgresql")
def _one_of_postgresql(element: one_of, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401
    text, listed = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{text} = ANY (ARRAY(SELECT json_array_elements_text(CAST({listed} AS json))))"


class unindexed(FunctionElement[Any]):  # noqa: N801 - an SQL function
    """A column whose index PostgreSQL must not use, because another index is better.

    It plans a statement once, maybe while a table is empty and all of its indexes look alike, and
    keeps to that plan until the table is analyzed.
    """

    inherit_cache = True

    def __init__(self, column: ColumnElement[Any]) -> None:
        super().__init__(column)
        self.type = column.type


@compiles(unindexed, "sqlite")
def _unindexed_sqlite(element: unindexed, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401
    return compiler.process(element.clauses, **options)


@compiles(unindexed, "postgresql")
def _unindexed_postgresql(element: unindexed, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401
    return f"({compiler.process(element.clauses, **options)} + 0)"


@cache
def ledger_end() -> CTE:
    """Return each partition's newest time: "now" in a report is the time of the newest event.

    It is the same object each time, so that parts of one statement may share it.
    """
    event, writer = ledger_event.c, ledger_writer.c
    newest = (
        select(event.at_us)
        .where(event.partition == writer.partition)
        .order_by(event.seq.desc())
        .limit(1)
        .scalar_subquery()
    )
    return select(writer.partition, newest.label("at_us")).cte("ledger_end")


ASKED_END_US = 1 << 62
"""No ledger's time is that late: a report of any time."""


@cache
def requested_span() -> CTE:
    """Return the time span of the wanted rows; in a view of the database any time.

    Commands that want less write other numbers in its place (``store.reading.reports``).
    """
    begin, end = literal(0, BigInteger), literal(ASKED_END_US, BigInteger)
    return select(begin.label("begin_us"), end.label("end_us")).cte("asked")
