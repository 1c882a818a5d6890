"""The state as it was: after a seq, or at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidegate.contracts.entry import Entry
from tidegate.core.state.state import State
from tidegate.replay.rebuild import rebuild


def as_of(
    entries: Iterable[Entry], *, seq: int | None = None, at_us: int | None = None
) -> tuple[State, Entry]:
    """Fold a history from its beginning up to ``seq`` or ``at_us`` (UTC microseconds), inclusive.

    Of both bounds the earlier counts; without any it is the newest state. Time never falls in a
    ledger, so the first entry beyond ends the reading.

    Raises:
        ChainError: the history was altered before that point.
    """
    return rebuild(_until(entries, seq, at_us))


def _until(entries: Iterable[Entry], seq: int | None, at_us: int | None) -> Iterator[Entry]:
    for entry in entries:
        if (seq is not None and entry.seq > seq) or (at_us is not None and entry.at_us > at_us):
            return
        yield entry
