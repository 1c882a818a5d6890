"""A writer in a process of its own, for races that threads of one process cannot run."""

from __future__ import annotations

from store.access.engine import open_engine
from store.ledger import SqlLedger
from tests.store.histories import ticks
from tidegate.contracts.entry import Positions
from tidegate.errors import FencedError, SequenceConflictError


def write_all(url: str, holder: str, count: int) -> int:
    """Lead a term and append the same history as everybody else; return how many rows were ours.

    Stops when another term fenced this one out.
    """
    engine = open_engine(url)
    try:
        ledger = SqlLedger(engine)
        term = ledger.begin_term(holder, 0)
        assert term is not None, "a lease of no length keeps no other process out"
        return _write(ledger, term.epoch, count)
    finally:
        engine.dispose()


def _write(ledger: SqlLedger, epoch: int, count: int) -> int:
    written = 0
    for row in ticks(count):
        try:
            ledger.append(epoch, row.seq - 1, [row], Positions())
        except SequenceConflictError:
            continue
        except FencedError:
            break
        written += 1
    return written
