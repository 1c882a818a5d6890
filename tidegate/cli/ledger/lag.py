"""How far the clock is ahead of a ledger's newest event: waits go on, whether or not it is told."""

from __future__ import annotations

from store.reading.about import is_led
from tidegate.cli.ledger.reading import Reader


def lag_us(reader: Reader) -> int:
    """Return how far the clock is ahead of the newest event, where what lasts goes on; else 0.

    It goes on while somebody leads. A ledger that nobody writes stands still, as does the past.
    """
    database = reader.database
    if reader.past or database is None or not reader.end:
        return 0
    if not is_led(database.select, database.dialect):
        return 0
    newest = next((entry.at_us for entry in reader.ledger.back(reader.end, 1)), 0)
    return max(0, reader.clock_us() - newest)
