"""The hash of a ledger's row: SHA-256 over the hash of the row before it and every other column.

In UTF-8, each column in its order as text, after its length in characters and a colon: different
rows give different bytes, and any tool can check the rows.
"""

from __future__ import annotations

from hashlib import sha256

from tidegate.contracts.entry import Entry

START = bytes(32)
"""The hash before the first row of a ledger."""


def digest_of(before: bytes, entry: Entry) -> bytes:
    """Return the hash that an entry must have after the hash ``before``."""
    return digest(
        before,
        entry.partition,
        entry.seq,
        entry.epoch,
        entry.turn,
        entry.at_us,
        entry.cluster,
        entry.type,
        entry.subject,
        entry.payload,
    )


def digest(  # noqa: PLR0913, PLR0917 - the columns, in their order
    before: bytes,
    partition: int,
    seq: int,
    epoch: int,
    turn: int,
    at_us: int,
    cluster: str,
    kind: str,
    subject: str,
    payload: str,
) -> bytes:
    """Return the hash of a row of these columns after the hash ``before``."""
    # Written out: this runs for every row of every ledger, and a loop takes twice as long.
    p, s, e, t, a = str(partition), str(seq), str(epoch), str(turn), str(at_us)
    canonical = (
        f"{len(p)}:{p}{len(s)}:{s}{len(e)}:{e}{len(t)}:{t}{len(a)}:{a}{len(cluster)}:{cluster}"
        f"{len(kind)}:{kind}{len(subject)}:{subject}{len(payload)}:{payload}"
    )
    return sha256(before + canonical.encode("utf-8", "surrogatepass")).digest()
