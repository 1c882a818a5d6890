"""A stream in memory with what JetStream promises of one: sequences, limits, ids, incarnations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tidegate.bus.streams import DUPLICATE_WINDOW_S
from tidegate.contracts.entry import Position

Clock = Callable[[], int]
"""Returns UTC microseconds."""


class Kept(NamedTuple):
    """A stored message."""

    at: Position
    at_us: int
    subject: str
    payload: bytes
    headers: Mapping[str, str]


class New(NamedTuple):
    """A message to be stored under an id that makes a retry a duplicate."""

    message_id: str
    subject: str
    payload: bytes
    headers: Mapping[str, str] = {}


class MemoryStream:
    """Messages by sequence; ``messages_max`` refuses what is new or drops what is old."""

    def __init__(self, clock: Clock, messages_max: int, *, discard_new: bool) -> None:
        self._clock, self._messages_max, self._discard_new = clock, messages_max, discard_new
        self._changed = asyncio.Event()
        self._incarnation = 0
        self.recreate()

    def recreate(self) -> None:
        """Begin anew: nothing is kept, sequences begin with 1, the incarnation is another."""
        self._incarnation = max(self._incarnation + 1, self._clock())
        self._kept = dict[int, Kept]()  # in the order of sequences
        self._ids = dict[str, tuple[int, int]]()  # id: sequence, microseconds
        self.last_seq, self.newest_id = 0, ""
        self._tell()

    @property
    def end(self) -> Position:
        """Return the incarnation and the newest sequence ever given out."""
        return Position(self._incarnation, self.last_seq)

    @property
    def first_seq(self) -> int:
        """Return the sequence of the oldest message kept; of the next one, if none is."""
        return next(iter(self._kept), self.last_seq + 1)

    @property
    def count(self) -> int:
        """Return how many messages are kept."""
        return len(self._kept)

    def has_room(self, count: int = 1) -> bool:
        """Return whether so many messages would be taken now."""
        return not self._discard_new or len(self._kept) + count <= self._messages_max

    def known(self, message_id: str) -> bool:
        """Return whether the id was stored within the duplicate window."""
        seq, at_us = self._ids.get(message_id, (0, 0))
        return seq > 0 and self._clock() - at_us < DUPLICATE_WINDOW_S * 1_000_000

    def store(self, messages: Sequence[New]) -> int:
        """Store messages that have room and are not known; return the last one's sequence."""
        assert self.has_room(len(messages))
        for message_id, subject, payload, headers in messages:
            self.last_seq += 1
            at_us = self._clock()
            self._kept[self.last_seq] = Kept(self.end, at_us, subject, payload, headers)
            self._ids[message_id] = self.last_seq, at_us
            self.newest_id = message_id
        while not self._discard_new and len(self._kept) > self._messages_max:
            self.lose(next(iter(self._kept)))
        self._tell()
        return self.last_seq

    def purge(self, seq: int) -> None:
        """Remove everything up to and with a sequence; beyond the end it moves the end."""
        while self._kept and next(iter(self._kept)) <= seq:
            del self._kept[next(iter(self._kept))]
        self.last_seq = max(self.last_seq, seq)
        self._tell()

    def lose(self, seq: int) -> None:
        """Remove one message for good."""
        self._kept.pop(seq, None)

    def roll_back(self, seq: int) -> None:
        """Forget what followed a sequence, as a server does that crashed before it wrote."""
        while self.last_seq > seq:
            self.lose(self.last_seq)
            self.last_seq -= 1
        self._ids = {name: place for name, place in self._ids.items() if place[0] <= seq}
        self._tell()

    def after(self, seq: int) -> Iterator[Kept]:
        """Yield what is kept behind a sequence, in order."""
        first = max(next(iter(self._kept), 1), seq + 1)
        places = range(first, self.last_seq + 1)
        return (self._kept[place] for place in places if place in self._kept)

    def newest(self) -> Kept | None:
        """Return the newest message that is still kept."""
        return self._kept[next(reversed(self._kept))] if self._kept else None

    async def change(self) -> None:
        """Wait until something is stored, purged or made anew."""
        await self._changed.wait()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
