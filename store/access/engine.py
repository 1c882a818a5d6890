"""From a ledger's URL to a SQLAlchemy engine, and its transactions; database errors become ours.

Who opens an engine disposes of it.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from sqlite3 import Connection as SqliteConnection
from typing import Any

from sqlalchemy import URL, Connection, Engine, TextClause, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import QueuePool

from store.archive.archive_format import is_archive
from store.reading.database import (
    CACHE_KIB,
    POSTGRES_CONNECT,
    POSTGRES_READS,
    POSTGRES_SETTINGS,
    SQLITE_PRAGMAS,
    cache_pragma,
    refuse_unreadable,
)
from store.statements.selecting import Select, unreachable_message
from tidegate.errors import CommitUnknownError, LedgerUnreachableError, UnstorableValueError
from tidegate.urls import redacted as without_secrets

_SQLITE_WRITES = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL")
_WRITES = {"target_session_attrs": "read-write"}  # never a standby, whichever host it is
_PRIMARY = {"target_session_attrs": "primary"}  # the same, for a role that reads by default
_BY_INDEX = [
    # A writer looks up single rows in tables that were empty when its statements were planned, and
    # keeps to those plans until statistics come: so it uses the indexes from the start.
    "SET enable_seqscan = off",
    "SET enable_bitmapscan = off",
    "SET enable_hashjoin = off",
    "SET enable_mergejoin = off",
    "SET jit = off",
]
_HOSTS = re.compile(r"(?P<head>\w+(?:\+\w+)?://(?:[^@/?]*@)?)(?P<hosts>[^/?]*,[^/?]*)(?P<tail>.*)")
_PLACE = re.compile(r"(?P<host>\[[^]]+\]|[^:]+)(?::(?P<port>\d*))?")


def parse_url(text: str) -> URL:
    """Read a ledger's URL; a plain path is a SQLite file.

    Raises:
        LedgerUnreachableError: it names no database that Tidegate speaks.
    """
    try:
        url = _url(text) if "://" in text else URL.create("sqlite", database=text)
    except ArgumentError as error:
        problem = f"{without_secrets(text)!r} is not a database URL: {without_secrets(str(error))}"
        raise LedgerUnreachableError(problem) from error
    match url.get_backend_name():
        case "sqlite":
            _refuse_archive(url.database or "")
            return url.set(drivername="sqlite+pysqlite")
        case "postgresql" | "postgres":
            refuse_unreadable(text)
            return url.set(drivername="postgresql+psycopg")
        case other:
            raise LedgerUnreachableError(
                f"A ledger cannot live in {other!r}: give sqlite:///FILE, a file's path, "
                "or postgresql://USER@HOST/DATABASE."
            )


def _refuse_archive(path: str) -> None:
    if is_archive(path):
        raise LedgerUnreachableError(
            f"{path} is the name of an exported archive, which is only read:"
            f" `tidegate ledger backup FILE.db --ledger {path}` makes a ledger of it."
        )


def _url(text: str) -> URL:
    """Read a URL; SQLAlchemy knows several hosts only as parameters."""
    match = _HOSTS.fullmatch(text)
    if match is None:
        return make_url(text)
    places = [each for each in map(_PLACE.fullmatch, match["hosts"].split(",")) if each]
    if len(places) <= match["hosts"].count(","):
        raise ArgumentError(f"{match['hosts']!r} are not hosts and ports")
    hosts = ",".join(place["host"].strip("[]") for place in places)
    ports = ",".join(place["port"] or "" for place in places)
    url = make_url(match["head"] + match["tail"])
    return url.update_query_dict({"host": hosts, "port": ports})


def open_engine(
    text: str, *, read_only: bool = False, primary: bool = False, cache_kib: int = CACHE_KIB
) -> Engine:
    """Return an engine for a ledger's URL; connects only when used.

    ``read_only`` is enforced by the database: SQLite opens the file with mode=ro, PostgreSQL
    refuses to write in such a session, unless a transaction asks for it. ``primary``: never a
    standby of PostgreSQL, though it is only read; a writer has no other. ``cache_kib``: pages that
    each connection to SQLite keeps.

    Raises:
        LedgerUnreachableError: the URL is none, or there is no file to read.
    """
    url = parse_url(text)
    if url.get_backend_name() == "postgresql":
        return _open_postgresql(url, read_only=read_only, primary=primary)
    if url.database in {None, "", ":memory:"}:
        return _open_memory()
    return _open_file(url, read_only=read_only, cache_kib=cache_kib)


def redacted_url(engine: Engine) -> str:
    """Return the engine's URL for people: without password or driver."""
    url = engine.url.set(drivername=engine.dialect.name)
    if engine.dialect.name == "sqlite":
        return f"sqlite:///{_path(url)}" if url.database else "sqlite://"
    bare = url.difference_update_query(["password"]).render_as_string(hide_password=True)
    return without_secrets(bare)


def _open_memory() -> Engine:
    # One connection that its users take in turns: a second one would see another, empty database.
    engine = create_engine(
        "sqlite+pysqlite://",
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        connect_args={"check_same_thread": False, "cached_statements": 512},
    )
    return _prepare_sqlite(engine, SQLITE_PRAGMAS)


def _open_file(url: URL, *, read_only: bool, cache_kib: int) -> Engine:
    writes = () if read_only else _SQLITE_WRITES
    pragmas = (*SQLITE_PRAGMAS, cache_pragma(cache_kib), *writes)
    path = _path(url)
    if read_only:
        if not path.is_file():
            raise LedgerUnreachableError(f"There is no ledger at {path}: check --ledger.")
        url = url.set(database=f"file:{path}").update_query_dict({"mode": "ro", "uri": "true"})
    engine = create_engine(
        url,
        # One connection is kept, others are closed after use: what one has written, each other one
        # has to read again, and two that took turns would keep their pages in vain.
        pool_size=1,
        max_overflow=4,
        connect_args={"check_same_thread": False, "cached_statements": 512},
    )
    return _prepare_sqlite(engine, pragmas)


def _path(url: URL) -> Path:
    return Path((url.database or "").removeprefix("file:")).expanduser().absolute()


def _prepare_sqlite(engine: Engine, pragmas: tuple[str, ...]) -> Engine:
    def on_connect(connection: SqliteConnection, _record: object) -> None:
        # The driver must not begin transactions on its own: it would leave reads and DDL outside.
        connection.isolation_level = None
        for pragma in pragmas:
            connection.execute(pragma).close()

    def on_begin(connection: Connection) -> None:
        # A transaction that reads before it writes must keep others from writing in between.
        if connection.get_execution_options().get("begin_at_once", False):
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:  # waits for no lock, cannot fail: SQLAlchemy's way costs as much as a write
            driver: Any = connection.connection
            driver.execute("BEGIN").close()

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)
    return engine


def _open_postgresql(url: URL, *, read_only: bool, primary: bool) -> Engine:
    settings = [*POSTGRES_SETTINGS, *(POSTGRES_READS if read_only else _BY_INDEX)]

    def on_connect(connection: Any, _record: object) -> None:  # noqa: ANN401 - psycopg may be absent
        with connection.cursor() as cursor:
            for setting in settings:
                cursor.execute(setting)
            # A stronger setting (remote_apply) stays; none at all would forget what was answered.
            cursor.execute(
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
        connection.commit()

    hosts = _PRIMARY if primary else {} if read_only else _WRITES
    connect_options = {**POSTGRES_CONNECT, **hosts}
    options = {key: value for key, value in connect_options.items() if key not in url.query}
    engine = create_engine(
        url,
        isolation_level="READ COMMITTED",  # the writer's row is locked first: see store.ledger
        pool_size=2,
        max_overflow=3,
        pool_recycle=1_800,
        connect_args=options,
    )
    event.listen(engine, "connect", on_connect)
    return engine


@contextmanager
def transaction(engine: Engine, *, begin_at_once: bool = False) -> Generator[Connection]:
    """Run the body in one transaction: commit at its end, roll back if it raises.

    ``begin_at_once``: on SQLite take the lock for writing first, as a transaction that reads before
    it writes needs to.

    Raises:
        CommitUnknownError: the commit was sent and not answered: it may have happened.
        LedgerUnreachableError: the database failed before that: nothing was written.
        UnstorableValueError: PostgreSQL cannot hold a value; SQLite's driver has an OverflowError.
    """
    with read_transaction(engine) as connection:
        connection.execution_options(begin_at_once=begin_at_once)
        try:
            yield connection
        except DataError as error:
            raise UnstorableValueError(
                f"The ledger at {redacted_url(engine)} cannot hold a value: "
                f"{' '.join(str(error.orig).split())}"
            ) from error
        try:
            connection.commit()
        except DBAPIError as error:
            raise CommitUnknownError(
                f"The ledger at {redacted_url(engine)} did not confirm a commit: "
                f"{' '.join(str(error.orig).split())}"
            ) from error


@contextmanager
def read_transaction(engine: Engine) -> Generator[Connection]:
    """Lend a connection whose transaction is rolled back at the end.

    Raises:
        LedgerUnreachableError: the database does not answer, or is not a ledger of ours.
    """
    try:
        with engine.connect() as connection:
            yield connection
    except IntegrityError:
        raise  # a promise of ours was broken, or a race lost: the caller knows which
    except (DBAPIError, PoolTimeoutError) as error:
        raise LedgerUnreachableError(
            unreachable_message(redacted_url(engine), _original_error(error))
        ) from error


@contextmanager
def selecting(engine: Engine) -> Generator[Select]:
    """Lend a connection as ``selecting.Lend`` does; its transaction is rolled back.

    Raises:
        LedgerUnreachableError: the database does not answer, or is not a ledger of ours.
    """
    with read_transaction(engine) as connection:
        yield select_through(connection)


def select_records(engine: Engine, sql: str) -> list[dict[str, Any]]:
    """Return the rows of a statement by the names of its columns.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    with read_transaction(engine) as connection:
        return [dict(row) for row in connection.execute(_text(sql)).mappings()]


def select_through(connection: Connection) -> Select:
    """Return how to select through a connection, within its transaction."""

    def select(sql: str, /, **values: object) -> list[Any]:
        return list(connection.execute(_text(sql), values))

    return select


@lru_cache(maxsize=64)
def _text(sql: str) -> TextClause:
    return text(sql)


def _original_error(error: DBAPIError | PoolTimeoutError) -> BaseException | None:
    return error.orig if isinstance(error, DBAPIError) else error
