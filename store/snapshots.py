"""Snapshots of the state: what makes a start quick, and never what makes it right.

A snapshot is bound to the chain by a hash over the entry that it follows and over its own bytes.
One that does not fit (another history, another form, a flipped bit) is passed over, and the next
older one is tried; with none, folding begins at the first event.
"""

from __future__ import annotations

from sqlalchemy import Engine, delete, insert, select
from sqlalchemy.exc import IntegrityError

from store.access.engine import selecting, transaction
from store.reading.kept_states import binding_hash, compress_state, newest_snapshot
from store.tables import ledger_snapshot
from tidegate.contracts.entry import Snapshot

KEPT = 10
"""How many of the newest a prune leaves."""
SPAN_EVENTS = 10_000
"""Of each so many events before those the first snapshot stays, so that the past is near."""

_kept = ledger_snapshot.c
_LAST = 2**62


class SqlSnapshots:
    """The snapshots of one partition's ledger."""

    def __init__(self, engine: Engine, partition: int = 0) -> None:
        self._engine, self._partition = engine, partition

    def newest(self, version: int, until: int | None = None) -> Snapshot | None:
        """Return the newest snapshot of that form which fits the ledger, up to seq ``until``.

        Raises:
            LedgerUnreachableError: the database does not answer.
        """
        with selecting(self._engine) as select:
            return newest_snapshot(
                select, self._partition, version, _LAST if until is None else until
            )

    def write(self, snapshot: Snapshot) -> None:
        """Write a snapshot and delete the oldest; a snapshot of the same seq stays.

        Raises:
            LedgerUnreachableError: the database does not answer.
        """
        state = compress_state(snapshot.state)
        row = {
            "partition": self._partition,
            "seq": snapshot.seq,
            "version": snapshot.version,
            "state": state,
            "hash": binding_hash(snapshot.head, snapshot.version, state),
        }
        try:
            with transaction(self._engine) as conn:
                conn.execute(insert(ledger_snapshot), row)
        except IntegrityError:
            return  # a standby was quicker
        self._prune()

    def _prune(self) -> None:
        """Leave the newest, and of those before them the first of each span of the history."""
        own = _kept.partition == self._partition
        with transaction(self._engine, begin_at_once=True) as conn:
            seqs = list(conn.scalars(select(_kept.seq).where(own).order_by(_kept.seq)))
            first = {seq // SPAN_EVENTS: seq for seq in reversed(seqs)}
            gone = set(seqs[:-KEPT]).difference(first.values())
            if gone:
                conn.execute(delete(ledger_snapshot).where(own, _kept.seq.in_(sorted(gone))))
