"""What defines a queue is looked for by the index of rare types, on both databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.reading.entries import EntryFilter, read_page_before
from store.tables import ledger_event
from tests.parts.sample import TURNS
from tests.store.histories import LEASE_US
from tidegate.contracts.entry import Positions
from tidegate.subscribe import DEFINING


def asked(narrow: EntryFilter) -> tuple[str, dict[str, object]]:
    """Return the statement that reads backwards."""
    caught = list[tuple[str, dict[str, object]]]()

    def select(sql: str, /, **values: object) -> list[Any]:
        caught.append((sql, values))
        return []

    read_page_before(select, 0, 1_000_000, 1_000, narrow)
    [row] = caught
    return row


@pytest.fixture
def sample(engine: Engine) -> Engine:
    """The sample's ledger."""
    ledger = SqlLedger(engine, clock_us=lambda: 0)
    ledger.begin_term("a", LEASE_US)
    for entries in TURNS:
        ledger.append(1, entries[0].seq - 1, entries, Positions())
    return engine


def plan(engine: Engine, narrow: EntryFilter) -> str:
    """Return a plan; PostgreSQL would read a small table whole."""
    sql, values = asked(narrow)
    is_sqlite = engine.dialect.name == "sqlite"
    with engine.connect() as conn:
        if not is_sqlite:
            conn.execute(text("SET enable_seqscan = off"))
        rows = conn.execute(text(f"EXPLAIN {'QUERY PLAN ' if is_sqlite else ''}{sql}"), values)
        return "\n".join(str(row[-1]) for row in rows)


@pytest.mark.parametrize(
    "narrow", [EntryFilter(DEFINING, text='"team-a"'), EntryFilter(DEFINING, after=9)]
)
def test_definitions_are_looked_for_by_their_type(sample: Engine, narrow: EntryFilter) -> None:
    message = plan(sample, narrow)
    if sample.dialect.name == "sqlite":
        assert "USING INDEX ledger_event_rare (partition=? AND type=?" in message
    else:
        assert "Index Scan using ledger_event_0_partition_type_seq_idx" in message  # of rare types


def test_other_events_are_walked_backwards_by_their_seq(sample: Engine) -> None:
    message = plan(sample, EntryFilter(subject="%.team-a.%.%", after=9))
    assert "ledger_event_rare" not in message
    assert "USE TEMP B-TREE" not in message
    assert "Sort" not in message, message


def test_sqlite_writes_an_event_without_a_table_of_frequent_types(migrated_file: Path) -> None:
    names = list(ledger_event.c.keys())
    values = ", ".join(f":{name}" for name in names)
    sql = f"EXPLAIN INSERT INTO ledger_event ({', '.join(names)}) VALUES ({values})"  # noqa: S608 - our names
    engine = open_engine(str(migrated_file), read_only=True)
    with engine.connect() as conn:
        opcodes = [step[1] for step in conn.execute(text(sql), dict.fromkeys(names, 1))]
    engine.dispose()
    assert opcodes.count("IdxInsert") >= 1
    assert "OpenEphemeral" not in opcodes
