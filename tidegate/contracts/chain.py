"""The hash chain: each entry contains the hash of the entry before, so that changes are detected.

``tidegate.contracts.digest`` says what the hash of an entry covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidegate.contracts.codec import encode, type_name
from tidegate.contracts.digest import START, digest, digest_of
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event
from tidegate.contracts.messages import subjects
from tidegate.errors import ChainError

GENESIS = Entry(0, 0, 0, 0, 0, "", "", "", "", START)
"""The entry before the first one; never stored."""


def seal(head: Entry, epoch: int, cluster: str, events: Iterable[Event]) -> list[Entry]:
    """Chain one turn's events to ``head``, in order: first the facts, then the decisions.

    Raises:
        TooLargeError: an event is larger than NATS accepts.
    """
    entries: list[Entry] = []
    turn, before = head.turn + 1, head.hash
    for seq, event in enumerate(events, head.seq + 1):
        place = head.partition, seq, epoch, turn, event.at_us, cluster
        subject = subjects.event(cluster, event, head.partition)
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
