"""A ledger is bound to one cluster and to the streams of one bus, from its first entry on.

Without that a scheduler that was given another cluster's observations would take them for a cluster
that was restored from a backup, and forget every quota that is in use.

Every place in EVENTS belongs to one seq of the ledger. What stands there and bears another hash
another client has put there, or it is of the tail that the ledger lost; what the ledger holds is
published again behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from scheduler.dependencies import Dependencies
from tidegate.bus.headers import row_of
from tidegate.bus.jetstream.keys import CLUSTER, ledger_key
from tidegate.bus.ports import Register
from tidegate.contracts.chain import digest_of
from tidegate.contracts.entry import Entry, Position, Published
from tidegate.contracts.facts import LedgerOpened
from tidegate.core.state.state import State
from tidegate.errors import BusUnreachableError, OtherClusterError, OtherLedgerError

POLL_S, POLLS = 0.1, 50
_OPENED = str(LedgerOpened.__struct_config__.tag).partition("/")[0]


class Bound(msgspec.Struct, frozen=True):
    """The cluster and the streams that a ledger is bound to."""

    cluster_uid: str = ""  # of the Namespace kube-system; empty: not checked
    streams: str = ""  # when the bus's register was made, UTC microseconds


async def read_binding(register: Register | None) -> Bound:
    """Return what a ledger that begins will belong to: the cluster that ingest claimed the bus for.

    Raises:
        BusUnreachableError: no ingest has reported yet which cluster it observes, or no answer.
    """
    if register is None:
        return Bound()
    for _ in range(POLLS):
        if uid := await register.read(CLUSTER):
            return Bound(uid, await register.created_at())
        await asyncio.sleep(POLL_S)
    raise BusUnreachableError("No ingest has reported yet which cluster it observes: start one.")


async def check_binding(register: Register | None, state: State) -> None:
    """Make sure that the bus belongs to a ledger that has begun, and to its cluster.

    Raises:
        OtherClusterError: it belongs to another cluster.
        OtherLedgerError: another ledger is published there.
        BusUnreachableError: no answer.
    """
    if register is None or not state.cluster_uid:
        return
    cluster = await register.claim(CLUSTER, state.cluster_uid)
    if cluster != state.cluster_uid:
        raise OtherClusterError(state.cluster_uid, cluster)
    ledger = await register.claim(ledger_key(state.partition), state.ledger_id)
    if ledger != state.ledger_id:
        raise OtherLedgerError(state.ledger_id, ledger)


async def newest_own_seq(deps: Dependencies, head: Entry, last: int, counts: Position) -> int:
    """Return the newest seq whose place in EVENTS holds the ledger's own entry, or no longer any.

    ``last`` is the seq that the newest place belongs to. What was published under a ledger's former
    name is taken as it is.

    Raises:
        BusUnreachableError, LedgerUnreachableError: try again.
    """
    seq, then = min(last, head.seq), ""
    while seq > 0 and then != _OPENED:
        stands = await deps.event_publisher.message_at(counts, seq)
        row = await deps.run_sync(_entry_reader(deps, seq))
        if stands is None or (stands.seq, stands.hash) == (seq, row.hash):
            return seq
        if then == "" and seq < head.seq:
            then = (await deps.run_sync(_entry_reader(deps, seq + 1))).type
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
        stands = await deps.event_publisher.message_at(counts, seq)
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


def _entry_reader(deps: Dependencies, seq: int) -> Callable[[], Entry]:
    return lambda: next(iter(deps.ledger.read(seq - 1, seq)))
