"""PostgreSQL finds what a turn names by its name, though it knows nothing of the tables yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema import migrate
from tests.parts.postgresql import Server
from tests.store.histories import LEASE_US, sealed
from tests.store.story import STORY
from tidegate.contracts.entry import Positions

pytestmark = pytest.mark.real
BY_NAME = (
    "report_workload",
    "report_wait",
    "report_holding",
    "report_preemption",
    "report_quota",
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


def test_a_turn_finds_what_lasts_by_its_name(engine: Engine) -> None:
    asked = dict[str, Any]()

    def note(
        _conn: object, _cursor: object, statement: str, parameters: object, *_: object
    ) -> None:
        if statement.startswith("SELECT report_"):
            asked[statement] = parameters

    event.listen(engine, "before_cursor_execute", note)
    ledger = SqlLedger(engine)
    ledger.lead("a", LEASE_US)
    for entries in sealed(*STORY):
        ledger.append(1, entries[0].seq - 1, entries, Positions())
    event.remove(engine, "before_cursor_execute", note)
    with engine.connect() as conn:
        plans = "".join(
            "\n".join(conn.exec_driver_sql(f"EXPLAIN {statement}", told).scalars())
            for statement, told in asked.items()
            if "json_array_elements_text" in statement
        )
    for table in BY_NAME:
        assert f"Index Scan using {table}_named" in plans, plans
        assert f"Seq Scan on {table}" not in plans, plans
        assert f"pk_{table}" not in plans, plans
