"""A database finds what a turn names by its name, though it knows nothing of the tables yet."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema import migrate
from store.statements.compiled import RowQuery, Values
from tests.parts.postgresql import Server
from tests.store.histories import LEASE_US, sealed
from tests.store.story import STORY
from tidegate.contracts.entry import Positions

BY_NAME = (
    "report_workload",
    "report_wait",
    "report_holding",
    "report_preemption",
    "report_quota",
    "report_budget",
    "report_queue",
)


@pytest.fixture
def engine(postgresql: Server) -> Iterator[Engine]:
    """A ledger of which no statistics are ever gathered."""
    made = postgresql.new_database()
    engine = open_engine(made)
    migrate.upgrade(engine)
    with engine.begin() as conn:
        for table in BY_NAME:
            conn.execute(text(f"ALTER TABLE {table} SET (autovacuum_enabled = off)"))
    yield engine
    engine.dispose()
    postgresql.drop(made)


def asked_by(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> dict[str, Values]:
    """Append a story; return the statements that its turns read with, and their parameters."""
    asked, ask = dict[str, Values](), RowQuery.driver_query

    def noting(
        reading: RowQuery, conn: Connection, values: Mapping[str, Any]
    ) -> tuple[str, Values]:
        statement, parameters = ask(reading, conn, values)
        asked[statement] = parameters
        return statement, parameters

    monkeypatch.setattr(RowQuery, "driver_query", noting)
    ledger = SqlLedger(engine)
    ledger.begin_term("a", LEASE_US)
    for entries in sealed(*STORY):
        ledger.append(1, entries[0].seq - 1, entries, Positions())
    return asked


@pytest.mark.real
def test_a_turn_finds_what_lasts_by_its_name(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asked_by(engine, monkeypatch)
    with engine.connect() as conn:
        plans = "".join(
            "\n".join(conn.exec_driver_sql(f"EXPLAIN {statement}", values).scalars())
            for statement, values in asked.items()
            if "json_array_elements_text" in statement
        )
    for table in BY_NAME:
        assert f"Index Scan using {table}_named" in plans, plans
        assert f"Seq Scan on {table}" not in plans, plans
        assert f"pk_{table}" not in plans, plans


def test_a_turn_on_sqlite_finds_what_lasts_by_its_name(
    migrated_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine(str(shutil.copy(migrated_file, tmp_path)))
    asked = asked_by(engine, monkeypatch)
    with engine.connect() as conn:
        plans = "".join(
            f"{row[-1]}\n"
            for statement, values in asked.items()
            if "json_each" in statement
            for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
        )
    engine.dispose()
    for table in BY_NAME:
        by = "owner" if table in {"report_quota", "report_budget", "report_queue"} else "workload"
        assert re.search(f"{table} USING INDEX {table}_lasts .*partition=. AND {by}=", plans), plans
        assert f"SCAN {table}" not in plans, plans
