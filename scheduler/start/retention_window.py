"""How much of the ledger EVENTS gets again after it was lost: as much as it would have kept.

EVENTS is a window onto the ledger's newest entries, bounded by bytes and by age. Lost as a whole it
is opened anew, as wide as it was: a new reader then knows what any reader knew before. What was
published under a ledger's former name is not published under its new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import LedgerOpened
from tidegate.errors import LedgerUnreachableError
from tidegate.service.logs import get_log

CHUNK_ENTRIES = 1_000
ENVELOPE_BYTES = 600
"""About what EVENTS stores beside a payload and its subject: headers and the record's own."""
Read = Callable[[int, int], Iterator[Entry]]
"""Yields the entries behind one seq up to and with another, in order."""
_log = get_log("window")
_OPENED = str(LedgerOpened.__struct_config__.tag).partition("/")[0]


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """The retention limits of the stream EVENTS."""

    bytes_max: int = 512 * 1024 * 1024
    age_us: int = 7 * 24 * 3600 * 1_000_000


def begin(read: Read, head: Entry, window: Window, now_us: int) -> int:
    """Return the seq behind which the window begins that ends with ``head``; 0: it holds all.

    Reads back from the end and no further. It ends at archived entries: they are not waited for.

    Raises:
        LedgerUnreachableError: the newest entries cannot be read.
    """
    after, bytes_left = head.seq, window.bytes_max
    if head.at_us <= now_us - window.age_us:
        return after
    while after > 0:
        try:
            chunk = list(read(max(0, after - CHUNK_ENTRIES), after))
        except LedgerUnreachableError as error:
            if after == head.seq:
                raise
            _log.warning("EVENTS gets no more again", before=after, why=str(error))
            return after
        for entry in reversed(chunk):
            bytes_left -= len(entry.payload) + len(entry.subject) + ENVELOPE_BYTES
            if bytes_left < 0 or entry.at_us <= now_us - window.age_us:
                return entry.seq
            if entry.type == _OPENED:
                return entry.seq - 1
        after = max(0, after - CHUNK_ENTRIES)
    return 0
