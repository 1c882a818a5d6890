"""Where the database's exceptions become ours, and how a transaction ends."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from store.access.engine import shown
from tidegate.errors import CommitUnknownError, LedgerUnreachableError

_NO_TABLE = "no such table"  # SQLite's words
_UNDEFINED_TABLE = "42P01"  # PostgreSQL's code


@contextmanager
def transaction(engine: Engine, *, begin_at_once: bool = False) -> Generator[Connection]:
    """Run the body in one transaction: commit at its end, roll back if it raises.

    ``begin_at_once``: on SQLite take the lock for writing first; who reads before it writes needs
    that.

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
                f"The ledger at {shown(engine)} did not confirm a commit: {_told(error)}"
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
        raise LedgerUnreachableError(_explained(engine, error)) from error


def _explained(engine: Engine, error: DBAPIError | PoolTimeoutError) -> str:
    told = _told(error)
    where = f"The ledger at {shown(engine)}"
    state = getattr(error.orig, "sqlstate", None) if isinstance(error, DBAPIError) else None
    if _NO_TABLE in told or state == _UNDEFINED_TABLE:
        return f"{where} lacks its tables: `tidegate ledger migrate` makes them. ({told})"
    return f"{where} does not answer: {told}"


def _told(error: DBAPIError | PoolTimeoutError) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else error
    return " ".join(str(cause).split())
