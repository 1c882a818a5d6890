"""The hash chain: each entry seals the one before, so that no line of history can be altered.

The hash of an entry is SHA-256 over the hash before it and then, in UTF-8, every other column in
its order as text, behind its length in characters and a colon: no two rows read alike, and whoever
has the rows can check them with any tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256

from tidegate.contracts import subjects
from tidegate.contracts.codec import encode, type_name
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event
from tidegate.errors import ChainError

GENESIS = Entry(0, 0, 0, 0, 0, "", "", "", "", bytes(32))
"""What the first entry follows; never stored."""


def seal(head: Entry, epoch: int, cluster: str, events: Iterable[Event]) -> list[Entry]:
    """Chain one turn's events to ``head``, in order: first the facts, then the decisions.

    Raises:
        TooLargeError: an event is larger than the bus takes.
    """
    entries: list[Entry] = []
    turn, before = head.turn + 1, head.hash
    for seq, event in enumerate(events, head.seq + 1):
        place = head.partition, seq, epoch, turn, event.at_us, cluster
        told = type_name(event), subjects.event(cluster, event), encode(event).decode()
        before = _digest(before, *place, *told)
        entries.append(Entry(*place, *told, before))
    return entries


def verify(entries: Iterable[Entry], head: Entry = GENESIS) -> Iterator[Entry]:
    """Yield the entries that follow ``head``, each once it is proven to belong there.

    Raises:
        ChainError: an entry is missing, moved, or altered in any column.
    """
    before, expected = head.hash, head.seq + 1
    for entry in entries:
        if entry.seq != expected:
            raise ChainError(f"the entry with seq {expected}", f"seq {entry.seq}")
        digest = digest_of(before, entry)
        if entry.hash != digest:
            raise ChainError(f"hash {digest.hex()} at seq {expected}", entry.hash.hex())
        yield entry
        before, expected = digest, expected + 1


def digest_of(before: bytes, entry: Entry) -> bytes:
    """Return the hash that an entry must bear after the hash ``before``."""
    return _digest(
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


def _digest(  # noqa: PLR0913, PLR0917 - the columns, in their order
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
    # Written out: every row of every ledger passes here, and a loop takes twice as long.
    p, s, e, t, a = str(partition), str(seq), str(epoch), str(turn), str(at_us)
    told = (
        f"{len(p)}:{p}{len(s)}:{s}{len(e)}:{e}{len(t)}:{t}{len(a)}:{a}{len(cluster)}:{cluster}"
        f"{len(kind)}:{kind}{len(subject)}:{subject}{len(payload)}:{payload}"
    )
    return sha256(before + told.encode("utf-8", "surrogatepass")).digest()
