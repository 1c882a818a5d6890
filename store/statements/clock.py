"""The database's own clock and calendar, as SQL that both dialects run."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, String
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from store.reading.about import NOW_US

HOUR_US = 3_600_000_000


class now_us(FunctionElement[int]):  # noqa: N801 - a SQL function
    """The database's time, UTC microseconds: leases of several machines need one clock."""

    type = BigInteger()
    inherit_cache = True


class utc_text(FunctionElement[str]):  # noqa: N801 - a SQL function
    """UTC microseconds as text, e.g. ``2026-03-01T07:00:00Z``; NULL stays NULL."""

    type = String()
    inherit_cache = True

    def __init__(self, at_us: ColumnElement[Any]) -> None:
        super().__init__(at_us)


@compiles(now_us, "sqlite")
def _now_sqlite(_element: now_us, _compiler: SQLCompiler, **_options: Any) -> str:  # noqa: ANN401
    return NOW_US["sqlite"]


@compiles(now_us, "postgresql")
def _now_postgresql(_element: now_us, _compiler: SQLCompiler, **_options: Any) -> str:  # noqa: ANN401
    return NOW_US["postgresql"]


@compiles(utc_text, "sqlite")
def _text_sqlite(element: utc_text, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401
    at_us = compiler.process(element.clauses, **options)
    return f"strftime('%Y-%m-%dT%H:%M:%SZ', ({at_us}) / 1000000, 'unixepoch')"


@compiles(utc_text, "postgresql")
def _text_postgresql(element: utc_text, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401
    at_us = compiler.process(element.clauses, **options)
    moment = f"to_timestamp((({at_us}) / 1000000)::double precision) AT TIME ZONE 'UTC'"
    return f'to_char({moment}, \'YYYY-MM-DD"T"HH24:MI:SS"Z"\')'
