"""Snapshots as readers find them: bound to the chain by a hash, and passed over if that is wrong.

The hash binds a snapshot to the entry that it follows and to its own bytes, which are kept
compressed. A client that can write the table can make one that fits, so an audit begins at the
first event and compares them (``tidegate ledger verify``).
"""

from __future__ import annotations

import zlib
from hashlib import sha256

from store.statements.selecting import Select
from tidegate.contracts.entry import Snapshot

_WANTED = (
    "SELECT s.seq, s.state, s.hash, e.hash FROM ledger_snapshot s JOIN ledger_event e"
    " ON e.partition = s.partition AND e.seq = s.seq"
    " WHERE s.partition = :partition AND s.version = :version AND s.seq <= :until"
    " ORDER BY s.seq DESC LIMIT 1"
)


def newest_snapshot(select: Select, partition: int, version: int, until: int) -> Snapshot | None:
    """Return the newest snapshot of that form which fits the ledger, up to seq ``until``.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    while rows := select(_WANTED, partition=partition, version=version, until=until):
        seq, encoded, digest, head = rows[0]
        if (
            digest == binding_hash(head, version, encoded)
            and (state := _decompress_state(encoded)) is not None
        ):
            return Snapshot(seq=seq, version=version, state=state, head=head)
        until = seq - 1
    return None


def compress_state(state: bytes) -> bytes:
    """Return a state's bytes as they are kept."""
    return zlib.compress(state, level=1)


def binding_hash(head: bytes, version: int, encoded: bytes) -> bytes:
    """Return the hash that binds what is kept to the hash of the entry that it follows."""
    return sha256(head + version.to_bytes(4, "big") + encoded).digest()


def _decompress_state(encoded: bytes) -> bytes | None:
    try:
        return zlib.decompress(encoded)
    except zlib.error:
        return None
