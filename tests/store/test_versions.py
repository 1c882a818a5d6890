"""Versions beside each other: one that is a schema behind reads on, or says which command helps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from sqlalchemy import Engine, text

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema import report_state
from store.schema.migrate import check, downgrade, upgrade
from store.schema.rebuilding import rebuild_online
from tests.parts.newer import NEWEST, NEXT, Newer
from tests.parts.reports import rows
from tests.store.conftest import DATABASES
from tests.store.histories import LEASE_US, sealed
from tests.store.story import STORY
from tidegate.contracts.entry import Positions
from tidegate.errors import LedgerUnreachableError


@pytest.fixture
def ledger(url: str) -> Iterator[Engine]:
    """A ledger of this version with a history."""
    engine = open_engine(url)
    upgrade(engine)
    written = SqlLedger(engine)
    written.begin_term("a", LEASE_US)
    for entries in sealed(*STORY):
        written.append(1, entries[0].seq - 1, entries, Positions())
    written.renew_term(1, 0)
    yield engine
    engine.dispose()


def test_readers_go_on_on_a_newer_schema_that_names_them(ledger: Engine, newer: Newer) -> None:
    before = rows(ledger, "waits")
    version = newer(NEWEST)
    upgrade(ledger)
    version.undo()
    check(ledger)
    assert rows(ledger, "waits") == before != []
    assert len(list(SqlLedger(ledger).read())) > 30


def test_a_writer_of_an_older_version_gets_the_command_to_run(ledger: Engine, newer: Newer) -> None:
    version = newer(NEWEST)
    upgrade(ledger)
    version.undo()
    for refused in (upgrade, partial(check, writes=True)):
        with pytest.raises(LedgerUnreachableError, match=f"ledger downgrade --to {NEWEST}"):
            refused(ledger)


def test_readers_that_would_miss_something_are_refused(ledger: Engine, newer: Newer) -> None:
    version = newer(NEXT)
    upgrade(ledger)
    version.undo()
    with pytest.raises(LedgerUnreachableError, match="newer Tidegate"):
        check(ledger)


def test_a_newer_version_says_what_an_older_schema_needs(ledger: Engine, newer: Newer) -> None:
    newer(NEWEST)
    with pytest.raises(LedgerUnreachableError, match="ledger migrate"):
        check(ledger)


def test_after_a_rollback_the_older_version_writes_again(ledger: Engine, newer: Newer) -> None:
    before = rows(ledger, "waits")
    version = newer(NEWEST)
    upgrade(ledger)
    downgrade(ledger, NEWEST)
    version.undo()
    upgrade(ledger)
    check(ledger, writes=True)
    assert rows(ledger, "waits") == before
    assert SqlLedger(ledger).begin_term("older", LEASE_US) is not None


def test_a_migration_that_wants_reports_made_again_leaves_that_to_a_rebuild_beside_the_services(
    ledger: Engine, newer: Newer
) -> None:
    before = rows(ledger, "waits")
    with ledger.begin() as conn:
        conn.execute(text("UPDATE report_wait SET reason = 'as an older version wrote it'"))
    newer(NEWEST, rebuilds=True)
    upgrade(ledger)
    if ledger.dialect.name == "postgresql":
        with ledger.connect() as conn:
            assert report_state.read_report_state(conn, 0).stale == NEXT
        assert rows(ledger, "waits") != before, "the migration did not wait for a rebuild"
        for _ in rebuild_online(ledger):
            pass
    with ledger.connect() as conn:
        assert report_state.read_report_state(conn, 0).stale == ""
    assert rows(ledger, "waits") == before


PREPARED = """\
def prepare(engine: sa.Engine) -> None:
    with engine.begin() as conn:
        conn.execute(sa.text("CREATE TABLE prepared (column_1 INTEGER)"))


def upgrade() -> None:
    op.drop_table("prepared")


def downgrade() -> None:
    pass
"""


@pytest.mark.parametrize("url", DATABASES[1:], indirect=True)  # one in memory has one connection
def test_what_a_migration_prepares_is_committed_before_its_transaction(
    ledger: Engine, newer: Newer
) -> None:
    newer(body=PREPARED)
    upgrade(ledger)
    check(ledger, writes=True)
