"""Where the database's exceptions become ours, and how a transaction ends."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Engine, TextClause, text
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from store.access.engine import shown
from store.statements.selecting import Select, unanswered
from tidegate.errors import CommitUnknownError, LedgerUnreachableError


@contextmanager
def transaction(engine: Engine, *, begin_at_once: bool = False) -> Generator[Connection]:
    """Run the body in one transaction: commit at its end, roll back if it raises.

    ``begin_at_once``: on SQLite take the lock for writing first, as a transaction that reads before
    it writes needs to.

    Raises:
        CommitUnknownError: the commit was sent and not answered: it may have happened.
        LedgerUnreachableError: the database failed before that: nothing was written.
    """
    with reading(engine) as connection:
        connection.execution_options(begin_at_once=begin_at_once)
        yield connection
        try:
            connection.commit()
        except DBAPIError as error:
            raise CommitUnknownError(
                f"The ledger at {shown(engine)} did not confirm a commit: "
                f"{' '.join(str(error.orig).split())}"
            ) from error


@contextmanager
def reading(engine: Engine) -> Generator[Connection]:
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
        raise LedgerUnreachableError(unanswered(shown(engine), _cause(error))) from error


@contextmanager
def selecting(engine: Engine) -> Generator[Select]:
    """Lend a connection as ``selecting.Lend`` does; its transaction is rolled back.

    Raises:
        LedgerUnreachableError: the database does not answer, or is not a ledger of ours.
    """
    with reading(engine) as connection:
        yield through(connection)


def records(engine: Engine, sql: str) -> list[dict[str, Any]]:
    """Return the rows of a statement by the names of its columns.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    with reading(engine) as connection:
        return [dict(row) for row in connection.execute(_text(sql)).mappings()]


def through(connection: Connection) -> Select:
    """Return how to select through a connection, within its transaction."""

    def select(sql: str, /, **values: object) -> list[Any]:
        return list(connection.execute(_text(sql), values))

    return select


@lru_cache(maxsize=64)
def _text(sql: str) -> TextClause:
    return text(sql)


def _cause(error: DBAPIError | PoolTimeoutError) -> BaseException | None:
    return error.orig if isinstance(error, DBAPIError) else error
