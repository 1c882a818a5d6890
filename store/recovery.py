"""Close a restored history: the next term must be newer than every term in it."""

from __future__ import annotations

from sqlalchemy import Engine, update

from store.access.engine import transaction
from store.tables import ledger_writer
from tidegate.errors import FencedError

_writer = ledger_writer.c


def end_term(engine: Engine, partition: int, epoch: int, newest: int) -> None:
    """End a term, so that the next epoch is higher than this one and than ``newest``.

    Raises:
        FencedError: a newer term has begun.
        LedgerUnreachableError: the database does not answer.
    """
    own = (_writer.partition == partition) & (_writer.epoch == epoch)
    ended = {"epoch": max(epoch, newest), "lease_until_us": 0}
    with transaction(engine) as conn:
        if conn.execute(update(ledger_writer).where(own).values(ended)).rowcount == 0:
            raise FencedError(f"term {epoch}", "a newer one")
