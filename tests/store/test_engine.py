"""What a ledger's URL may say, what a reader may not do, and what becomes of lost connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event, text

from store.access.engine import open_engine, parse_url, redacted_url
from store.ledger import SqlLedger
from store.schema import migrate
from tests.parts.postgresql import Server
from tests.store.conftest import DATABASES
from tests.store.histories import AT, LEASE_US, ticks
from tidegate.contracts.entry import Positions
from tidegate.errors import CommitUnknownError, LedgerUnreachableError

ROWS = ticks(4)


@pytest.mark.parametrize(
    ("text_", "driver"),
    [
        ("ledger.db", "sqlite+pysqlite"),
        ("sqlite:////var/lib/ledger.db", "sqlite+pysqlite"),
        ("postgresql://me@db/tidegate", "postgresql+psycopg"),
        ("postgresql+psycopg://me@db/tidegate", "postgresql+psycopg"),
    ],
)
def test_a_ledger_may_be_named(text_: str, driver: str) -> None:
    assert parse_url(text_).drivername == driver


def test_a_url_may_name_several_hosts_as_libpq_s_do() -> None:
    url = parse_url("postgresql://me:p%2C@db-1:5432,db-2,[::1]:5434/tidegate?sslmode=require")
    assert url.query == {"sslmode": "require", "host": "db-1,db-2,::1", "port": "5432,,5434"}
    assert (url.password, url.database) == ("p,", "tidegate")


@pytest.mark.parametrize(
    "text_", ["mysql://db/x", "oracle://db", "http://db/x", "sqlite:x://", "postgresql://a:b,c/x"]
)
def test_anything_else_is_refused_with_what_to_give(text_: str) -> None:
    with pytest.raises(LedgerUnreachableError, match=r"database URL|postgresql://"):
        open_engine(text_)


def test_a_password_is_never_shown() -> None:
    engine = open_engine("postgresql://me:secret@db/tidegate")
    assert redacted_url(engine) == "postgresql://me:***@db/tidegate"
    engine.dispose()
    engine = open_engine("postgresql://me@db-1,db-2/tidegate?password=secret")
    assert "secret" not in redacted_url(engine)
    engine.dispose()


def test_one_connection_to_a_file_keeps_its_pages_between_turns(tmp_path: Path) -> None:
    engine = open_engine(str(tmp_path / "ledger.db"))
    closed = list[object]()
    event.listen(engine, "close", lambda connection, _record: closed.append(connection))
    with engine.connect() as turn, engine.connect() as renewal:  # while the turn writes
        drivers = [conn.connection.dbapi_connection for conn in (turn, renewal)]
    assert closed == drivers[:1], "the one that comes back first is kept"
    with engine.connect() as turn:
        assert turn.connection.dbapi_connection is drivers[1]
    engine.dispose()


def test_a_database_that_does_not_answer_is_named() -> None:
    engine = open_engine("postgresql://me:secret@127.0.0.1:1/tidegate")
    with pytest.raises(LedgerUnreachableError, match=r"me:\*\*\*@127.0.0.1:1") as caught:
        list(SqlLedger(engine).read())
    assert "secret" not in str(caught.value)
    engine.dispose()


def test_a_file_that_is_not_there_is_not_made_by_a_reader(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnreachableError, match=r"There is no ledger at .*absent\.db"):
        open_engine(str(tmp_path / "absent.db"), read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("This is a letter. " * 100)
    engine = open_engine(str(tmp_path / "x.db"), read_only=True)
    with pytest.raises(LedgerUnreachableError, match="not a database"):
        list(SqlLedger(engine).read())
    engine.dispose()


@pytest.fixture
def reader(url: str, engine: Engine) -> Iterator[Engine]:
    """A reader of a ledger of four rows."""
    ledger = SqlLedger(engine)
    ledger.begin_term("a", LEASE_US)
    ledger.append(1, 0, ROWS, AT)
    reader = open_engine(url, read_only=True)
    yield reader
    reader.dispose()


@pytest.mark.parametrize("url", DATABASES[1:], indirect=True)  # memory: one connection only
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM ledger_event",
        "INSERT INTO report_priority_class VALUES (0, 'gate', 'a', 1, false, false)",
        "DROP VIEW waits",
    ],
)
def test_a_reader_reads_and_cannot_write(reader: Engine, statement: str) -> None:
    assert list(SqlLedger(reader).read()) == ROWS
    with pytest.raises(Exception, match=r"read-?only"), reader.begin() as conn:
        conn.execute(text(statement))
    with pytest.raises(LedgerUnreachableError, match=r"read-?only"):
        SqlLedger(reader).append(1, 4, [], Positions())


def test_a_sqlite_ledger_survives_a_power_cut(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path}/ledger.db")
    with engine.connect() as conn:
        assert conn.scalar(text("PRAGMA journal_mode")) == "wal"
        assert conn.scalar(text("PRAGMA synchronous")) == 2
        assert conn.scalar(text("PRAGMA foreign_keys")) == 1
    engine.dispose()


@pytest.fixture
def remote(postgresql: Server) -> Iterator[Engine]:
    """A migrated ledger on PostgreSQL."""
    url = postgresql.new_database()
    engine = open_engine(url)
    migrate.upgrade(engine)
    yield engine
    engine.dispose()
    postgresql.drop(url)


@pytest.mark.real
def test_a_synchronous_commit_that_was_switched_off_is_switched_on(
    remote: Engine, postgresql: Server
) -> None:
    remote.dispose()
    postgresql.execute(f"ALTER DATABASE {remote.url.database} SET synchronous_commit = off")
    with remote.connect() as conn:
        assert conn.scalar(text("SHOW synchronous_commit")) == "on"


@pytest.mark.real
@pytest.mark.parametrize("when", ["before_cursor_execute", "commit"])
def test_a_lost_connection_is_reported_by_what_is_known(
    remote: Engine, postgresql: Server, when: str
) -> None:
    ledger = SqlLedger(remote)
    ledger.begin_term("a", LEASE_US)

    def cut(conn: Connection, *_told: object) -> None:
        with closing(conn.connection.cursor()) as cursor:
            pid = cursor.execute("SELECT pg_backend_pid()").fetchone()[0]
        postgresql.execute(f"SELECT pg_terminate_backend({pid})")

    event.listen(remote, when, cut, once=True)
    error = CommitUnknownError if when == "commit" else LedgerUnreachableError
    with pytest.raises(error):
        ledger.append(1, 0, ROWS, AT)
    assert list(ledger.read()) == []
    ledger.append(1, 0, ROWS, AT)
    assert list(ledger.read()) == ROWS
