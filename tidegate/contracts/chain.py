"""The hash chain: each entry contains the hash of the entry before, so that changes are detected.

The hash of a ledger's row is SHA-256 over the hash of the row before it and every other column. In
UTF-8, each column in its order as text, after its length in characters and a colon: different rows
give different bytes, and any tool can check the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256

from tidegate.contracts import subjects
from tidegate.contracts.codec import encode, type_name
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event
from tidegate.errors import ChainError

START = bytes(32)
"""The hash before the first row of a ledger."""
GENESIS = Entry(0, 0, 0, 0, 0, "", "", "", "", START)
"""The entry before the first one; never stored."""


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


def seal(head: Entry, epoch: int, cluster: str, events: Iterable[Event]) -> list[Entry]:
    """Chain one turn's events to ``head``, in order: first the facts, then the decisions.

    Raises:
        TooLargeError: an event is larger than NATS accepts.
    """
    entries: list[Entry] = []
    turn, before = head.turn + 1, head.hash
    for seq, event in enumerate(events, head.seq + 1):
        place = head.partition, seq, epoch, turn, event.at_us, cluster
        subject = subjects.event_subject(cluster, event, head.partition)
        parts = type_name(event), subject, encode(event).decode()
        before = digest(before, *place, *parts)
        entries.append(Entry(*place, *parts, before))
    return entries


def verify(entries: Iterable[Entry], head: Entry = GENESIS) -> Iterator[Entry]:
    """Yield the entries after ``head``, each once its seq and hash are verified.

    Raises:
        ChainError: an entry is missing, moved, or altered in any column.
    """
    before, expected = head.hash, head.seq + 1
    for entry in entries:
        if entry.seq != expected:
            raise ChainError(f"the entry with seq {expected}", f"seq {entry.seq}")
        expected_hash = digest_of(before, entry)
        if entry.hash != expected_hash:
            raise ChainError(f"hash {expected_hash.hex()} at seq {expected}", entry.hash.hex())
        yield entry
        before, expected = expected_hash, expected + 1
