"""The clock's lead over a ledger's newest event: waits go on without an event."""

from __future__ import annotations

from store.reading.about import is_led
from store.reading.database import Database
from tidegate.cli.ledger.reading import Reader


def lag_us(reader: Reader) -> int:
    """Return how far the clock is ahead of the newest event, where what lasts goes on; else 0.

    Time goes on while a scheduler leads, and up to a time of the past that events follow. It stands
    still in a ledger without a writer, and in the past after one of its events.
    """
    database = reader.database
    if database is None or not reader.end or (reader.past and not reader.past_us):
        return 0
    select, partition = database.select, reader.partition
    if not is_led(select, database.dialect, partition) and not _is_followed(reader, database):
        return 0
    newest = next((entry.at_us for entry in reader.ledger.back(reader.end, 1)), 0)
    now_us = reader.clock_us()
    return max(0, (min(now_us, reader.past_us) if reader.past else now_us) - newest)


def _is_followed(reader: Reader, database: Database) -> bool:
    following = "SELECT 1 FROM ledger_event WHERE partition = :partition AND seq = :seq"
    at = {"partition": reader.partition, "seq": reader.end + 1}
    return reader.past and bool(database.select(following, **at))
