"""Reports lose what ended before a time, and are made again beside a writer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, select, text

from store.access.engine import select_through, selecting
from store.ledger import SqlLedger
from store.reading.entries import newest_entry
from store.reading.report_audit import audit_reports
from store.reporting import tables as reporting
from store.schema import migrate, report_state
from store.schema.rebuilding import rebuild_online
from store.schema.retention import expire_reports
from store.statements.clock import HOUR_US
from tests.parts.newer import NEWEST, Newer
from tests.store.conftest import Fresh
from tests.store.test_reports import history, summed, tables, written
from tests.store.test_two_partitions import busy, retold, story, write
from tidegate.cli.commands.reporting.reports import months_before
from tidegate.contracts.entry import Entry, Positions
from tidegate.errors import LedgerUnreachableError

SEED = 2
QUESTIONS = (
    """SELECT relname, relkind, relacl::text, reloptions, relrowsecurity FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relname LIKE 'report_%'""",
    "SELECT tablename, policyname, permissive, roles, cmd, qual, with_check FROM pg_policies",
    """SELECT tablename, indexname, indexdef FROM pg_indexes
    WHERE tablename LIKE 'report_%' AND schemaname = current_schema()""",
    """SELECT c.relname, a.attname, a.attacl::text, a.attnotnull FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace""",
    "SELECT count(*) FROM pg_tables WHERE schemaname = 'tidegate_rebuild'",
)
"""What a database knows of the reports' tables: rights, policies, indexes, options, columns."""
BESIDE_A_WRITER = pytest.mark.parametrize("fresh_engine", ["postgresql"], indirect=True)
"""SQLite makes its reports again in one transaction, which stops the writer."""


@pytest.fixture
def filled(fresh_engine: Fresh) -> Iterator[Engine]:
    with fresh_engine() as engine:
        written(engine, history(SEED)[0])
        yield engine


def middle_us(engine: Engine) -> int:
    """Return the hour in the middle of the hours that have usage."""
    hours = sorted({int(row[1]) for row in tables(engine)["report_usage"]})
    assert len(hours) > 2
    return hours[len(hours) // 2]


def test_what_ended_before_a_time_leaves_and_what_lasts_stays(filled: Engine) -> None:
    before, before_us = tables(filled), middle_us(filled)
    hourly = summed(filled)
    counts = expire_reports(filled, before_us)
    after = tables(filled)
    assert {name: len(before[name]) - len(after[name]) for name in counts} == counts
    assert sum(count > 0 for count in counts.values()) > 1
    for table, ended in ((reporting.wait, "to_us"), (reporting.workload, "removed_us")):
        with filled.connect() as conn:
            left = conn.scalars(select(table.c[ended])).all()
        assert all(at_us is None or at_us >= before_us for at_us in left)
    kept = {key: value for key, value in hourly.items() if key[0] >= before_us}
    assert {key: value for key, value in summed(filled).items() if key[0] >= before_us} == kept
    assert expire_reports(filled, before_us) == dict.fromkeys(counts, 0)


def test_the_audit_knows_what_left_and_a_rebuild_leaves_it_out(filled: Engine) -> None:
    expire_reports(filled, middle_us(filled))
    left = tables(filled)
    entries = list(SqlLedger(filled).read())
    assert list(audit_reports(filled, {0: entries})) == []
    migrate.rebuild_reports(filled)
    assert tables(filled) == left
    with filled.begin() as conn:
        conn.execute(reporting.wait.delete())
    assert [finding.where for finding in audit_reports(filled, {0: entries})] == ["report_wait"]


def test_an_earlier_time_than_before_brings_nothing_back(filled: Engine) -> None:
    middle = middle_us(filled)
    expire_reports(filled, middle)
    expire_reports(filled, middle - 5 * HOUR_US)
    with filled.connect() as conn:
        assert report_state.read_report_state(conn, 0).kept_from_us == middle


@pytest.mark.parametrize(
    ("months", "begins"), [(1, (2026, 1)), (2, (2025, 12)), (13, (2025, 1)), (26, (2023, 12))]
)
def test_months_are_whole_ones_of_utc(months: int, begins: tuple[int, int]) -> None:
    at = datetime(2026, 2, 28, 23, 59, tzinfo=UTC)
    assert months_before(at, months) == datetime(*begins, 1, tzinfo=UTC)


@BESIDE_A_WRITER
@pytest.mark.real
def test_made_again_beside_a_writer_the_rows_are_the_same(filled: Engine) -> None:
    before = tables(filled)
    last = 0
    for seq in rebuild_online(filled):
        last = seq
    with selecting(filled) as selected:
        head = newest_entry(selected, 0)
    assert head is not None
    assert last == head.seq
    assert tables(filled) == before
    assert list(audit_reports(filled, {0: list(SqlLedger(filled).read())})) == []


@pytest.mark.slow
@BESIDE_A_WRITER
@pytest.mark.real
def test_made_again_beside_two_writers_the_rows_of_both_partitions_are_the_same(
    fresh_engine: Fresh,
) -> None:
    turns = story(), retold(busy(SEED))
    with fresh_engine() as engine:
        write(engine, *enumerate(turns))
        before = tables(engine)
        begun = rebuild_online(engine, rows=20)
        assert [next(begun) for _ in range(3)] == [20, 39, 20], "it is in the second one"
        begun.close()
        reached = set(rebuild_online(engine, rows=20))
        assert {sum(map(len, of_one)) for of_one in turns} <= reached
        assert 20 not in reached, "it went on"
        assert tables(engine) == before


@BESIDE_A_WRITER
@pytest.mark.real
def test_a_rebuild_that_was_broken_off_goes_on_and_takes_in_what_came_meanwhile(
    filled: Engine,
) -> None:
    expire_reports(filled, middle_us(filled))
    wanted = tables(filled)
    begun = rebuild_online(filled, rows=50)
    first = next(begun)
    begun.close()
    assert tables(filled) == wanted, "no table that readers see has changed"
    running = rebuild_online(filled, rows=50)
    assert next(running) > first, "it went on"
    with pytest.raises(LedgerUnreachableError, match="Another process is rebuilding"):
        next(rebuild_online(filled))
    running.close()
    assert max(rebuild_online(filled)) > first
    assert tables(filled) == wanted


@BESIDE_A_WRITER
@pytest.mark.real
def test_rights_and_policies_stay_and_tables_are_where_migrations_find_them(
    filled: Engine, newer: Newer
) -> None:
    with filled.begin() as conn:
        conn.execute(text("DROP ROLE IF EXISTS rebuilt_reader"))
        conn.execute(text("CREATE ROLE rebuilt_reader"))
        conn.execute(text("GRANT SELECT ON report_wait, waits TO rebuilt_reader"))
        conn.execute(text("GRANT SELECT (uid), UPDATE (uid) ON report_workload TO rebuilt_reader"))
        conn.execute(text("ALTER TABLE report_wait ENABLE ROW LEVEL SECURITY"))
        policy = "CREATE POLICY own ON report_wait AS RESTRICTIVE FOR SELECT TO rebuilt_reader"
        conn.execute(text(f"{policy} USING (namespace = 'team-a')"))
    before = catalog(filled)
    for _ in rebuild_online(filled):
        pass
    assert catalog(filled) == before
    newer()
    migrate.upgrade(filled)
    migrate.downgrade(filled, NEWEST)
    with filled.begin() as conn:
        conn.execute(text("DROP OWNED BY rebuilt_reader"))
        conn.execute(text("DROP ROLE rebuilt_reader"))


def catalog(engine: Engine) -> list[list[tuple[object, ...]]]:
    """Return the database's answers."""
    with engine.connect() as conn:
        select_ = select_through(conn)
        return [sorted(map(tuple, select_(question)), key=str) for question in QUESTIONS]


def test_the_audit_takes_in_what_a_running_service_writes_meanwhile(fresh_engine: Fresh) -> None:
    turns = history(SEED)[0]
    half = len(turns) // 2
    with fresh_engine() as engine:
        written(engine, turns[:half])
        ledger = SqlLedger(engine)

        def entries() -> Iterator[Entry]:
            yield from ledger.read()
            for turn in turns[half:]:
                ledger.append(1, turn[0].seq - 1, turn, Positions())

        assert list(audit_reports(engine, {0: entries()})) == []
