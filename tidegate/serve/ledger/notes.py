"""The context of each event of a workload, noted as the history is folded: seq to some bytes.

A turn may free quota by hundreds of events for hundreds of workloads, so the list of freed quota is
kept once for all workloads that could start by it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left

import msgspec
from msgspec.structs import replace

from tidegate.replay.story.context import EventContext
from tidegate.replay.story.freeing import FreedQuota

_NOTHING = EventContext()


class _Note(msgspec.Struct, frozen=True, array_like=True):
    """A note, and where among all bytes what was freed is."""

    around: EventContext
    freed_at: int
    freed_bytes: int


_encoder = msgspec.msgpack.Encoder()
_note = msgspec.msgpack.Decoder(_Note)
_freed = msgspec.msgpack.Decoder(tuple[FreedQuota, ...])


class ContextNotes:
    """Notes by the seq of their event; added by one thread, in order, and read by others."""

    def __init__(self) -> None:
        self._seqs, self._begins, self._ends = array("Q"), array("Q"), array("Q")
        self._bytes = bytearray()
        self._turn, self._freed = 0, dict[bytes, int]()  # what this turn freed, to where it is

    @property
    def size(self) -> int:
        """Return how many bytes the notes take, without where they are."""
        return len(self._bytes)

    def add(self, seq: int, turn: int, around: EventContext | None) -> None:
        """Note what stood around an event; nothing is kept where there is nothing to say."""
        if around is None or around == _NOTHING:
            return
        if turn != self._turn:
            self._turn, self._freed = turn, {}
        freed = _encoder.encode(around.freed)
        at = self._freed.get(freed)
        if at is None:
            at = self._freed[freed] = len(self._bytes)
            self._bytes += freed
        self._begins.append(len(self._bytes))
        self._bytes += _encoder.encode(_Note(replace(around, freed=()), at, len(freed)))
        self._ends.append(len(self._bytes))
        self._seqs.append(seq)  # last: a reader finds what is whole

    def get(self, seq: int) -> EventContext | None:
        """Return what stood around an event; None: nothing is to be said."""
        at = bisect_left(self._seqs, seq)
        if at == len(self._seqs) or self._seqs[at] != seq:
            return None
        note = _note.decode(self._bytes[self._begins[at] : self._ends[at]])
        freed = _freed.decode(self._bytes[note.freed_at : note.freed_at + note.freed_bytes])
        return replace(note.around, freed=freed)
