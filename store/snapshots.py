"""Snapshots of the state: what makes a start quick, and never what makes it right.

A snapshot is bound to the chain by a hash over the entry that it follows and over its own bytes.
One that does not fit (another history, another form, a flipped bit) is passed over, and the next
older one is tried; with none, folding begins at the first event.
"""

from __future__ import annotations

from hashlib import sha256

from sqlalchemy import Engine, delete, insert, select
from sqlalchemy.exc import IntegrityError

from store.failures import reading, transaction
from store.tables import ledger_event, ledger_snapshot
from tidegate.contracts.entry import Snapshot

KEPT = 3
"""How many a prune leaves."""

_kept = ledger_snapshot.c
_event = ledger_event.c


class SqlSnapshots:
    """The snapshots of one partition's ledger."""

    def __init__(self, engine: Engine, partition: int = 0) -> None:
        self._engine, self._partition = engine, partition

    def newest(self, version: int, until: int | None = None) -> Snapshot | None:
        """Return the newest snapshot of that form which fits the ledger, up to seq ``until``.

        Raises:
            LedgerUnreachableError: the database does not answer.
        """
        ours = (_kept.partition == self._partition) & (_kept.version == version)
        if until is not None:
            ours &= _kept.seq <= until
        beside = (_event.partition == _kept.partition) & (_event.seq == _kept.seq)
        wanted = (
            select(_kept.seq, _kept.state, _kept.hash, _event.hash)
            .join_from(ledger_snapshot, ledger_event, beside)
            .where(ours)
            .order_by(_kept.seq.desc())
        )
        with reading(self._engine) as conn:
            for seq, state, digest, head in conn.execute(wanted):
                if digest == _bind(head, version, state):
                    return Snapshot(seq=seq, version=version, state=state, head=head)
        return None

    def write(self, snapshot: Snapshot) -> None:
        """Keep a snapshot and prune the oldest; one of the same seq stays as it is.

        Raises:
            LedgerUnreachableError: the database does not answer.
        """
        row = {
            "partition": self._partition,
            "seq": snapshot.seq,
            "version": snapshot.version,
            "state": snapshot.state,
            "hash": _bind(snapshot.head, snapshot.version, snapshot.state),
        }
        try:
            with transaction(self._engine) as conn:
                conn.execute(insert(ledger_snapshot), row)
        except IntegrityError:
            return  # a standby was quicker
        self._prune()

    def _prune(self) -> None:
        ours = _kept.partition == self._partition
        newest = select(_kept.seq).where(ours).order_by(_kept.seq.desc()).limit(KEPT)
        with transaction(self._engine, begin_at_once=True) as conn:
            kept = conn.scalars(newest).all()
            conn.execute(delete(ledger_snapshot).where(ours, _kept.seq.not_in(kept)))


def _bind(head: bytes, version: int, state: bytes) -> bytes:
    return sha256(head + version.to_bytes(4, "big") + state).digest()
