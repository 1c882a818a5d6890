"""Events by range of seq in PostgreSQL: the writer has room ahead, and no commit waits for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace
from sqlalchemy import Engine, text

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.partitions.detaching import attached_partitions, detach_partition, drop_table
from store.partitions.making import SIGNATURE, is_partition
from store.reading.report_audit import Finding, audit_reports
from store.schema import migrate
from tests.parts.postgresql import Server
from tests.store.histories import LEASE_US, ticks
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry, Positions
from tidegate.errors import LedgerUnreachableError

pytestmark = pytest.mark.real
BOUNDS = (
    "SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i"
    " JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'ledger_event'::regclass"
    " ORDER BY c.relname"
)
SIZE = 10
OTHER = (
    "CREATE OR REPLACE FUNCTION ledger_make_partitions(until bigint, size bigint) RETURNS bigint"
    " LANGUAGE sql SECURITY DEFINER SET lock_timeout = '2s' AS 'SELECT until + size'"
)


@pytest.fixture
def engine(postgresql: Server) -> Iterator[Engine]:
    """A migrated ledger's engine."""
    made = postgresql.new_database()
    engine = open_engine(made)
    migrate.upgrade(engine)
    yield engine
    engine.dispose()
    postgresql.drop(made)


def led(engine: Engine) -> SqlLedger:
    """Return a ledger of small partitions that leads its first term."""
    ledger = SqlLedger(engine, reports=False, partition_events=SIZE)
    assert ledger.begin_term("a", LEASE_US) is not None
    return ledger


def append(ledger: SqlLedger, entries: list[Entry], rows: int = 4) -> None:
    for first in range(0, len(entries), rows):
        part = entries[first : first + rows]
        ledger.append(1, part[0].seq - 1, part, Positions())


def bounds(engine: Engine) -> dict[str, str]:
    with engine.connect() as conn:
        return {str(row[0]): str(row[1]) for row in conn.execute(text(BOUNDS))}


def file_of(engine: Engine, table: str) -> int:
    """Return the number of the file that holds a table's rows: another after it was rewritten."""
    with engine.connect() as conn:
        return int(conn.scalar(text("SELECT pg_relation_filenode(:table)"), {"table": table}) or 0)


def test_a_whole_partition_is_always_ahead(engine: Engine) -> None:
    ledger, entries = led(engine), ticks(25)
    append(ledger, entries)
    made = bounds(engine)
    assert list(made) == [f"ledger_event_{lower}" for lower in (0, 10, 20, 30)]
    assert all(map(is_partition, made))
    assert made["ledger_event_30"] == "FOR VALUES FROM ('30') TO ('40')"
    assert list(ledger.read()) == entries
    assert ledger.newest() == entries[-1]


def test_another_size_goes_on_behind_the_last(engine: Engine) -> None:
    append(led(engine), ticks(5))
    larger = SqlLedger(engine, reports=False, partition_events=100)
    append(larger, ticks(150)[5:], rows=50)
    edges = [(0, 10), (10, 20), (20, 100), (100, 200), (200, 300)]
    expected = {f"FOR VALUES FROM ('{lower}') TO ('{upper}')" for lower, upper in edges}
    assert set(bounds(engine).values()) == expected
    assert list(larger.read()) == ticks(150)


def test_a_ledger_s_partition_that_begins_late_has_room_where_tables_have_left(
    engine: Engine,
) -> None:
    first, entries = led(engine), ticks(45)
    append(first, entries)
    for table in attached_partitions(engine)[:3]:
        detach_partition(engine, table)
        drop_table(engine, table.name)
    second = SqlLedger(engine, 1, reports=False, partition_events=7)
    assert second.begin_term("b", LEASE_US) is not None
    others = seal(replace(GENESIS, partition=1), 1, "local", [decode(e.payload) for e in entries])
    append(second, others)
    assert list(second.read()) == others
    assert list(first.read(30)) == entries[30:]
    append(first, ticks(60)[45:])
    edges = [int(bound.split("'")[n]) for bound in bounds(engine).values() for n in (1, 3)]
    assert sorted(edges) == sorted([*{*edges} - {0, max(edges)}] * 2 + [0, max(edges)]), "no hole"


def test_a_detached_partition_leaves_no_statement_behind_that_waits_without_end(
    engine: Engine,
) -> None:
    append(led(engine), ticks(2 * SIZE))
    with engine.connect() as conn:
        limit = conn.scalar(text("SHOW lock_timeout"))
    detach_partition(engine, attached_partitions(engine)[0])
    with engine.connect() as conn:
        assert conn.scalar(text("SHOW lock_timeout")) == limit == "10s"


def test_room_is_made_beside_readers(engine: Engine) -> None:
    ledger = led(engine)
    append(ledger, ticks(5))
    with engine.connect() as reader:
        assert reader.scalar(text("SELECT count(*) FROM ledger_event")) == 5
        append(ledger, ticks(40)[5:])
        assert len(bounds(engine)) == 6
        assert reader.scalar(text("SELECT count(*) FROM ledger_event")) == 40


def test_without_rights_the_writer_goes_on_to_the_end_of_its_room(engine: Engine) -> None:
    ledger, entries = led(engine), ticks(40)
    append(ledger, entries[:4])  # room to 20
    with engine.begin() as conn:
        conn.execute(text(f"DROP FUNCTION {SIGNATURE}"))
    append(ledger, entries[4:16])
    with pytest.raises(LedgerUnreachableError, match="ledger_make_partitions"):
        append(ledger, entries[16:])
    assert list(ledger.read()) == entries[:16]


@pytest.mark.parametrize(
    "damage",
    [
        "DROP FUNCTION {}",
        "ALTER FUNCTION {} SECURITY INVOKER",
        "ALTER FUNCTION {} RESET search_path",
        OTHER,
    ],
)
def test_an_audit_finds_that_the_function_is_another(engine: Engine, damage: str) -> None:
    append(led(engine), ticks(5))
    assert functions(engine) == []
    with engine.begin() as conn:
        conn.execute(text(damage.format(SIGNATURE)))
    assert len(functions(engine)) == 1


def functions(engine: Engine) -> list[Finding]:
    """Return what an audit says of functions."""
    findings = audit_reports(engine, {0: SqlLedger(engine, reports=False).read()})
    return [finding for finding in findings if finding.where.startswith("function")]
