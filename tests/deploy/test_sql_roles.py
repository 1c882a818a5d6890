"""Each role of PostgreSQL can do its work and no more: history is beyond the writer's reach."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from typer.testing import CliRunner

from migrations.__main__ import main
from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.snapshots import SqlSnapshots
from tests.parts.postgresql import Server
from tests.store.histories import AT, LEASE_US, sealed
from tests.store.story import STORY
from tidegate.cli.program import build_app
from tidegate.contracts.entry import Snapshot

pytestmark = pytest.mark.real
ROLES = Path(__file__).parents[2] / "deploy" / "sql" / "roles.sql"
ENTRIES = sealed(*STORY)
LAST = ENTRIES[-1][-1]


@pytest.fixture(scope="module")
def ledger(postgresql: Server) -> Iterator[str]:
    """A ledger whose schema its owner has made, with rights given; its URL has {} for the role."""
    made = postgresql.new_database()
    with psycopg.connect(made, autocommit=True) as connection:
        connection.execute(ROLES.read_text().encode())
    url = made.replace("tidegate@", "{}@", 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEGATE_LEDGER", url.format("tidegate_owner"))
        patch.setenv("TIDEGATE_GRANT_TO", "tidegate_writer")
        patch.setenv("TIDEGATE_GRANT_READING_TO", "tidegate_reader")
        assert main() == 0
        assert main() == 0  # as each start of a pod does
    yield url
    postgresql.drop(made)


@pytest.fixture(scope="module")
def written(ledger: str) -> str:
    """The ledger with a history in it, written by the writer's role."""
    engine = open_engine(ledger.format("tidegate_writer"))
    try:
        writer = SqlLedger(engine)
        assert writer.begin_term("a", LEASE_US) is not None
        for turn in ENTRIES:
            writer.append(1, turn[0].seq - 1, turn, AT)
        writer.renew_term(1, LEASE_US)
        kept = Snapshot(seq=LAST.seq, version=1, state=b"state", head=LAST.hash)
        SqlSnapshots(engine).write(kept)
        assert list(writer.read()) == [entry for turn in ENTRIES for entry in turn]
    finally:
        engine.dispose()
    return ledger


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger_event SET payload = '{}'",
        "DELETE FROM ledger_event",
        "TRUNCATE ledger_event",
        "DROP TABLE ledger_event",
        "CREATE TABLE mine (x int)",
        "UPDATE alembic_version SET version_num = '9999'",
        "DELETE FROM ledger_view",
        "DELETE FROM ledger_archive",
    ],
)
def test_the_writer_cannot_alter_history_or_schema(written: str, statement: str) -> None:
    with psycopg.connect(written.format("tidegate_writer")) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.encode())
        connection.rollback()


def test_the_reader_reads_tables_and_views(written: str) -> None:
    with psycopg.connect(written.format("tidegate_reader")) as connection:
        values = connection.execute("SELECT count(*) FROM ledger_event").fetchone()
        assert values == (LAST.seq,)
        views = connection.execute("SELECT name FROM ledger_view").fetchall()
        assert len(views) > 5
        for (name,) in views:
            connection.execute(SQL("SELECT * FROM {}").format(Identifier(name))).fetchall()


def test_the_reader_writes_nothing(written: str) -> None:
    with psycopg.connect(written.format("tidegate_reader")) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.commit()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM ledger_snapshot")
        connection.rollback()


def test_the_reader_compares_what_is_beside_the_events_with_them(written: str) -> None:
    command = ["reports", "verify", "--ledger", written.format("tidegate_reader")]
    result = CliRunner().invoke(build_app(), command)
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    with psycopg.connect(written.format("tidegate_owner"), autocommit=True) as owner:
        owner.execute("ALTER VIEW queues RENAME TO queues_kept")
        owner.execute("CREATE VIEW queues AS SELECT * FROM queues_kept LIMIT 1")
        owner.execute("GRANT SELECT ON queues TO tidegate_reader")
        try:
            result = CliRunner().invoke(build_app(), command)
        finally:
            owner.execute("DROP VIEW queues")
            owner.execute("ALTER VIEW queues_kept RENAME TO queues")
    assert "view queues: it is another than this version makes" in result.stdout.splitlines()


def test_the_reader_makes_nothing_that_lasts(written: str) -> None:
    with psycopg.connect(written.format("tidegate_reader")) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.commit()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("CREATE VIEW mine AS SELECT 1")
        connection.rollback()


def test_sqlite_has_no_roles_to_give_rights_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEGATE_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    assert main() == 0
    monkeypatch.setenv("TIDEGATE_GRANT_TO", "reader")
    assert main() == 1
    assert capsys.readouterr().err == "Only PostgreSQL has roles to give rights to.\n"
