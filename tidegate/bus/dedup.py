"""Deduplication of EVENTS: entries that a subscriber has had, though they come again."""

from __future__ import annotations

from tidegate.contracts.entry import Published


class Once:
    """Remembers a subscriber's newest entry; entries of another ledger begin anew."""

    def __init__(self) -> None:
        self._ledger_id, self._seq = "", 0

    def is_new(self, message: Published) -> bool:
        """Return whether an entry is new to the subscriber, and remember it as the newest."""
        if message.ledger_id == self._ledger_id and message.seq <= self._seq:
            return False
        self._ledger_id, self._seq = message.ledger_id, message.seq
        return True
