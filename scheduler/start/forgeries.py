"""Messages of EVENTS that this ledger did not write: forged, or the tail that the ledger lost.

Every place in EVENTS belongs to one seq of the ledger. What stands there and bears another hash
another client has put there, and what the ledger holds is published again behind it.
"""

from __future__ import annotations

from collections.abc import Callable

from scheduler.dependencies import Dependencies
from tidegate.bus.rows import row_of
from tidegate.contracts.digest import digest_of
from tidegate.contracts.entry import Entry, Position, Published
from tidegate.contracts.facts import LedgerOpened

_OPENED = str(LedgerOpened.__struct_config__.tag).partition("/")[0]


async def newest_own(deps: Dependencies, head: Entry, last: int, counts: Position) -> int:
    """Return the newest seq whose place in EVENTS holds the ledger's own entry, or no longer any.

    ``last`` is the seq that the newest place belongs to. What was published under a ledger's former
    name is taken as it is.

    Raises:
        BusUnreachableError, LedgerUnreachableError: try again.
    """
    seq, then = min(last, head.seq), ""
    while seq > 0 and then != _OPENED:
        stands = await deps.event_publisher.held(counts, seq)
        row = await deps.run_sync(_reading(deps, seq))
        if stands is None or (stands.seq, stands.hash) == (seq, row.hash):
            return seq
        if then == "" and seq < head.seq:
            then = (await deps.run_sync(_reading(deps, seq + 1))).type
            if then == _OPENED:
                return seq
        seq, then = seq - 1, row.type
    return seq


async def is_tail(
    deps: Dependencies, head: Entry, last: int, counts: Position, ledger_id: str
) -> bool:
    """Return whether something behind the ledger's end follows from it: then it lost its tail.

    So it is, too, if the first one is no longer held and it is unknown.
    """
    unknown = False
    for seq in range(head.seq + 1, last + 1):
        stands = await deps.event_publisher.held(counts, seq)
        if stands is None:
            unknown = True
        elif _follows(head, stands) or (
            unknown and (stands.ledger_id, stands.seq) == (ledger_id, seq)
        ):
            return True
    return False


def _follows(head: Entry, stands: Published) -> bool:
    row = row_of(stands) if stands.seq == head.seq + 1 else None
    return row is not None and digest_of(head.hash, row) == stands.hash


def _reading(deps: Dependencies, seq: int) -> Callable[[], Entry]:
    return lambda: next(iter(deps.ledger.read(seq - 1, seq)))
