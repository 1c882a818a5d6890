"""Since when a tree's move is where it is, as the ledger of the partition has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from store.reading.entries import EntryFilter
from tidegate.cli.moves.state import Move
from tidegate.contracts.codec import decode

if TYPE_CHECKING:
    from tidegate.cli.ledger.reader import Reader


def since_us(reader: Reader, move: Move) -> int:
    """Return when the newest event came that brought a move where it is, UTC microseconds.

    0: the ledger does not say, since that event is in no part of it that is read.
    """
    if move.stage == "Released":
        return next((entry.at_us for entry in reader.ledger.read(move.seq - 1, move.seq)), 0)
    kind = "MoveRequested" if move.stage == "Requested" else "TreeTaken"
    for entry in reader.ledger.back(reader.end, narrow=EntryFilter(frozenset((kind,)))):
        if entry.type == kind and _concerns_move(decode(entry.payload), move):
            return entry.at_us
    return 0


def _concerns_move(event: Any, move: Move) -> bool:  # noqa: ANN401 - one of the two
    if move.stage == "Requested":
        return f"{event.kind}/{event.name}" in move.object_keys()
    return not set(move.queues).isdisjoint(event.queues)
