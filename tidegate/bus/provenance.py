"""Whether a message of EVENTS is the ledger's: its hash follows from the entry before it.

A client with the bus's credentials may store a message that looks like an event. A message that
does not follow is in doubt: it is the ledger's if the next one follows from it, and forged if the
next one follows from the last proven one. After a gap in the ledger's seqs, the stream sequence
decides: only the scheduler can have stored a message there. The first message read is believed.

A hash is no signature: a client that reads EVENTS can compute the next one. The scheduler, which
knows what it wrote, publishes its own event again behind a forged one; and
``deploy/nats/accounts.conf`` lets no other client publish at all.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import NamedTuple, TypeAlias

from tidegate.bus.headers import row_of
from tidegate.contracts.chain import START, digest_of
from tidegate.contracts.entry import Entry, Position, Published

HASHES_MAX = 4_096
"""Of the newest entries at least: what is published again is known by them."""
OnForged: TypeAlias = Callable[[Published, Position], None]
"""Hears of a message that is not the ledger's, and of its place in the stream."""


class _Suspect(NamedTuple):
    message: Published
    row: Entry
    at: Position


def ignore_forged(_one: Published, _at: Position) -> None:
    """Ignore a forged message."""


class Provenance:
    """The entries that one subscriber of EVENTS had, and what they prove."""

    def __init__(self, on_forged: OnForged = ignore_forged) -> None:
        self.ledger_id, self.seq = "", 0  # of the newest entry delivered
        self.chained = 0  # entries delivered since one was believed unproven
        self._on_forged = on_forged
        self._hashes = dict[int, bytes]()  # of entries that are the ledger's, by seq
        self._at: Position | None = None  # of the newest entry delivered
        self._seen: Position | None = None  # of the newest message, whatever it was
        self._suspect: _Suspect | None = None

    @property
    def hash(self) -> bytes:
        """Return the hash of the newest entry; empty: there is none."""
        return self._hashes.get(self.seq, b"")

    @property
    def sequence_offset(self) -> int:
        """Return how far stream sequences are ahead of the ledger's, by the newest entry."""
        return 0 if self._at is None else self._at.seq - self.seq

    def start_from(self, after: int, proven: Provenance) -> bool:
        """Take over what another has proven, as a subscriber that has had all up to a seq.

        Nothing is taken over, and False returned, if the other does not know that entry.
        """
        if after not in proven._hashes or proven._at is None:
            return False
        self._hashes = dict(proven._hashes)
        self.ledger_id, self.seq = proven.ledger_id, after
        self._at = self._seen = Position(proven._at.incarnation, after + proven.sequence_offset)
        return True

    def is_known(self, message: Published) -> bool:
        """Return whether an entry is one that was proven before."""
        return message.ledger_id == self.ledger_id and self._hashes.get(message.seq) == message.hash

    def skip(self, at: Position) -> None:
        """Note a message that is not even shaped like an event."""
        self._seen = at

    def reject(self, message: Published, at: Position) -> None:
        """Mark a message as forged."""
        self._seen = at
        self._on_forged(message, at)

    def verify(self, message: Published, at: Position) -> tuple[Published, ...]:
        """Return the entries to deliver now, in order: none, this one, or the doubted and this one.

        An entry that was delivered is not delivered again.
        """
        if self._is_repeated(message):
            self._seen = at
            return ()
        row = row_of(message)
        if row is None:
            self.reject(message, at)
            return ()
        doubted, self._suspect = self._suspect, None
        previous, self._seen = self._seen, at
        if self._is_proven(message, row) or (
            previous == self._at and self._is_in_place(message, at)
        ):
            if doubted is not None:
                self.reject(doubted.message, doubted.at)
            self._accept(message, at)
            return (message,)
        if doubted is not None and _follows(doubted, message, row):
            self._accept(doubted.message, doubted.at)
            self._accept(message, at)
            return (doubted.message, message)
        if doubted is not None:
            self.reject(doubted.message, doubted.at)
        self._suspect = _Suspect(message, row, at)
        return ()

    def reject_suspect(self) -> None:
        """Mark doubted messages as forged: no message follows from them."""
        doubted, self._suspect = self._suspect, None
        if doubted is not None:
            self.reject(doubted.message, doubted.at)

    def _is_repeated(self, message: Published) -> bool:
        same = message.ledger_id == self.ledger_id and message.seq <= self.seq
        return same and self._hashes.get(message.seq, message.hash) == message.hash

    def _is_proven(self, message: Published, row: Entry) -> bool:
        if self.is_known(message):
            return True
        before = START if message.seq == 1 else self._hashes.get(message.seq - 1)
        if not self.ledger_id:
            return before is None or digest_of(before, row) == message.hash
        if message.ledger_id != self.ledger_id:
            return before is not None and digest_of(before, row) == message.hash
        if message.seq <= self.seq or before is None:
            return False  # another entry than the one delivered, or one behind a hole
        return digest_of(before, row) == message.hash

    def _is_in_place(self, message: Published, at: Position) -> bool:
        """Return whether an entry behind a hole is as far behind the newest as it must be."""
        if self._at is None or message.ledger_id != self.ledger_id or message.seq <= self.seq + 1:
            return False
        same = self._at.incarnation == at.incarnation
        return same and at.seq - message.seq == self.sequence_offset

    def _accept(self, message: Published, at: Position) -> None:
        first = not self.ledger_id
        if message.ledger_id != self.ledger_id:
            before = self._hashes.get(message.seq - 1)
            self._hashes = {} if before is None else {message.seq - 1: before}
        self.ledger_id, self.seq, self._at = message.ledger_id, message.seq, at
        self._hashes[message.seq] = message.hash
        self.chained = 0 if first else self.chained + 1
        if len(self._hashes) > 2 * HASHES_MAX:  # many at once: each looks past those before it
            self._hashes = dict(islice(self._hashes.items(), HASHES_MAX, None))


def _follows(doubted: _Suspect, message: Published, row: Entry) -> bool:
    same = doubted.message.ledger_id == message.ledger_id and doubted.message.seq == message.seq - 1
    return same and digest_of(doubted.message.hash, row) == message.hash


class EntryDeduplicator:
    """Remembers a subscriber's newest entry; entries of another ledger begin anew."""

    def __init__(self) -> None:
        self._ledger_id, self._seq = "", 0

    def is_new(self, message: Published) -> bool:
        """Return whether an entry is new to the subscriber, and remember it as the newest."""
        if message.ledger_id == self._ledger_id and message.seq <= self._seq:
            return False
        self._ledger_id, self._seq = message.ledger_id, message.seq
        return True
