"""A month of 100 queues in the ledger, and each report on it, as ``bench.ledger`` measures them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from bench.figures import Figure, Watch
from bench.histories.databases import open_ledger, server_cpu_s
from bench.histories.synthetic import history
from store.ledger import SqlLedger
from store.views.catalog import VIEWS
from tidegate.contracts import chain
from tidegate.contracts.entry import Positions

LEASE_US = 3_600_000_000
REPORT_S = 60
"""A report that takes longer is stopped."""
_PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
_QUERY = re.compile(
    r"^### ([^\n]+)\n(?:(?!^### ).)*?```sql\n(SELECT.*?)\n```", re.DOTALL | re.MULTILINE
)


def measure(ledger: str, workloads: int, until: float) -> Iterator[Figure]:
    """Fill an empty ledger with a month, then check its chain and ask for every report.

    Filling ends at ``until``, in the clock's monotonic seconds: what is there then is measured.
    """
    yield _fill(ledger, workloads, until)
    with open_ledger(ledger, read_only=True) as engine:
        sql_ledger, watch = SqlLedger(engine), Watch()
        count = sum(1 for _ in chain.verify(sql_ledger.read()))
        yield watch.figure("check the month's chain", count)
    for name, query in _queries():
        yield _fetch_all(ledger, name, query)


def _fill(ledger: str, workloads: int, until: float) -> Figure:
    with open_ledger(ledger) as engine:
        sql_ledger, watch, count = SqlLedger(engine), Watch(), 0
        assert sql_ledger.begin_term("bench", LEASE_US) is not None, (
            "another bench holds this ledger"
        )
        with engine.connect() as conn:
            server_s = server_cpu_s(conn)
        for entries in history(workloads, 500):
            with watch:
                sql_ledger.append(1, count, entries, Positions())
            count = entries[-1].seq
            if time.monotonic() > until:
                print(f"  stopped at {count:,} events: time is up", flush=True)
                break
        with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as conn:
            server_s = server_cpu_s(conn) - server_s
            conn.execute(text("ANALYZE"))
    return watch.figure("append a month, turns of 500", count, server_s)


def _queries() -> Iterator[tuple[str, str]]:
    """Yield the worked queries of docs/sql.md, then every report whole."""
    for match in _QUERY.finditer(_PAGE.read_text()):
        yield match[1], match[2]
    for name in VIEWS:
        yield f"`{name}`, whole", f"SELECT * FROM {name}"  # noqa: S608 - our names


def _fetch_all(ledger: str, name: str, query: str) -> Figure:
    """Let the driver fetch all rows, as a client does that prints them."""
    with open_ledger(ledger, read_only=True) as engine, engine.connect() as conn:
        server_s, rows = server_cpu_s(conn), 0
        _set_timeout(conn)
        with Watch() as watch:
            try:
                cursor = conn.exec_driver_sql(query).cursor
                assert cursor is not None, "a query gives rows"
                while page := cursor.fetchmany(1_000):
                    rows += len(page)
            except OperationalError:
                return watch.figure(f"{name}: stopped after {REPORT_S} s", 0)
        return watch.figure(name, rows, server_cpu_s(conn) - server_s)


def _set_timeout(conn: Connection) -> None:
    if conn.dialect.name == "postgresql":
        conn.execute(text(f"SET statement_timeout = '{REPORT_S}s'"))
        return
    until = time.monotonic() + REPORT_S
    driver = conn.connection.driver_connection
    assert driver is not None
    driver.set_progress_handler(lambda: time.monotonic() > until, 100_000)
