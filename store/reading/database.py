"""A ledger's database as readers see it: read-only, through the driver itself.

SQLite opens the file with mode=ro, PostgreSQL refuses to write in such a session. A PostgreSQL URL
goes to libpq as it stands, so it may name several hosts.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from store.statements.selecting import Select, unreachable_message
from tidegate.errors import LedgerUnreachableError
from tidegate.urls import is_readable, redacted_url
from tidegate.urls import redacted as without_secrets

BUSY_S = 10
"""How long a statement waits for another's lock before it fails."""
SQLITE_PRAGMAS = (
    f"PRAGMA busy_timeout = {BUSY_S * 1_000}",
    "PRAGMA foreign_keys = ON",
    "PRAGMA temp_store = MEMORY",
)
CACHE_KIB = 65_536
"""Of a connection's pages on SQLite: reports scan and sort much."""


def cache_pragma(kib: int) -> str:
    """Return the statement with which a connection to SQLite keeps so many KiB of pages."""
    return f"PRAGMA cache_size = -{kib}"


POSTGRES_CONNECT: Mapping[str, Any] = {
    "connect_timeout": BUSY_S,
    "application_name": "tidegate",
    # A network that swallows packets must not hold the writer for the quarter of an hour that TCP
    # would wait.
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": BUSY_S * 1_000,
}
POSTGRES_READS = (
    "SET default_transaction_read_only = on",
    "SET jit = off",  # to compile a report takes longer than to run it
)
POSTGRES_SETTINGS = (f"SET lock_timeout = '{BUSY_S}s'", "SET timezone = 'UTC'")
_NAMED = re.compile(r"(?<!:):([a-z][a-z_0-9]*)")


class Database:
    """An open database; its opener closes it."""

    def __init__(self, connection: Any, dialect: str, label: str, errors: type[Exception]) -> None:  # noqa: ANN401 - either driver's
        self.dialect = dialect  # sqlite or postgresql
        self.shown = label  # its URL for people
        self._connection, self._errors = connection, errors

    @contextmanager
    def lend(self) -> Generator[Select]:
        """Lend the connection: see ``store.statements.selecting.Lend``."""
        yield self.select

    def select(self, sql: str, /, **values: object) -> list[Any]:
        """See ``store.statements.selecting.Select``.

        Raises:
            LedgerUnreachableError: the database does not answer, or is not a ledger of ours.
        """
        return self._run_statement(sql, values)[1]

    def records(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a statement by the names of its columns.

        Raises:
            LedgerUnreachableError: the database does not answer, or is not a ledger of ours.
        """
        names, rows = self._run_statement(sql, {})
        return [dict(zip(names, row, strict=True)) for row in rows]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _run_statement(self, sql: str, values: Mapping[str, object]) -> tuple[list[str], list[Any]]:
        try:
            cursor = self._execute(sql, values)
            rows = cursor.fetchall()
        except self._errors as error:
            raise LedgerUnreachableError(unreachable_message(self.shown, error)) from error
        return [column[0] for column in cursor.description or ()], rows

    def _execute(self, sql: str, values: Mapping[str, object]) -> Any:  # noqa: ANN401 - a cursor
        if self.dialect == "postgresql" and values:
            sql = _for_psycopg(sql)
        return self._connection.execute(sql, values or ())


def open_database(url: str) -> Database:
    """Open a ledger's database read-only; a plain path is a SQLite file.

    Raises:
        LedgerUnreachableError: the URL is none, there is no file to read, or no server answers.
    """
    scheme, separator, rest = url.partition("://")
    match scheme.partition("+")[0] if separator else "sqlite":
        case "sqlite":
            return _open_file(rest.removeprefix("/") if separator else url)
        case "postgresql" | "postgres":
            return _open_postgresql(f"postgresql://{rest}")
        case other:
            raise LedgerUnreachableError(
                f"A ledger cannot live in {other!r}: give sqlite:///FILE, a file's path, "
                "or postgresql://USER@HOST/DATABASE."
            )


def _open_file(name: str) -> Database:
    try:
        path = Path(name).expanduser().absolute()
        exists = path.is_file()
    except (OSError, RuntimeError, ValueError) as error:  # too long, or ~USER of an unknown user
        raise LedgerUnreachableError(f"{name[:80]!r} names no file: {error}"[:500]) from error
    if not exists:
        raise LedgerUnreachableError(f"There is no ledger at {path}: check --ledger.")
    escaped = str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    label = f"sqlite:///{path}"
    with ExitStack() as on_error:
        try:
            connection = sqlite3.connect(
                f"file:{escaped}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
            )
            on_error.callback(connection.close)
            for pragma in (*SQLITE_PRAGMAS, cache_pragma(CACHE_KIB)):
                connection.execute(pragma).close()
        except sqlite3.Error as error:
            raise LedgerUnreachableError(unreachable_message(label, error)) from error
        on_error.pop_all()
    return Database(connection, "sqlite", label, sqlite3.Error)


def _open_postgresql(url: str) -> Database:
    import psycopg  # noqa: PLC0415 - may be absent, and a file does without it

    label = without_secrets(url)
    refuse_unreadable(url)
    options = {key: value for key, value in POSTGRES_CONNECT.items() if f"{key}=" not in url}
    try:
        connection = psycopg.connect(url, autocommit=True, **options)
        for setting in (*POSTGRES_SETTINGS, *POSTGRES_READS):
            connection.execute(setting.encode())
    except psycopg.ProgrammingError as error:
        cause = without_secrets(str(error))
        raise LedgerUnreachableError(f"{label!r} is not a database URL: {cause}") from error
    except psycopg.Error as error:
        raise LedgerUnreachableError(unreachable_message(label, error)) from error
    return Database(connection, "postgresql", label, psycopg.Error)


def refuse_unreadable(url: str) -> None:
    """Refuse a URL that parsers read differently: an error message could quote its password.

    Raises:
        LedgerUnreachableError: reserved characters stand in it.
    """
    if not is_readable(url):
        raise LedgerUnreachableError(
            f"{redacted_url(url)!r} is not a database URL: in a user, a password and a "
            "parameter, reserved characters such as / ? # @ and % stand as %XX."
        )


@lru_cache(maxsize=64)
def _for_psycopg(sql: str) -> str:
    return _NAMED.sub(r"%(\1)s", sql.replace("%", "%%"))
