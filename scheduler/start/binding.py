"""A ledger is bound to one cluster and to the streams of one bus, from its first entry on.

Without that a scheduler that was given another cluster's observations would take them for a cluster
that was restored from a backup, and forget every quota that is in use.
"""

from __future__ import annotations

import asyncio

import msgspec

from tidegate.bus.jetstream.register import CLUSTER, ledger_key
from tidegate.bus.ports import Register
from tidegate.core.state.state import State
from tidegate.errors import BusUnreachableError, OtherClusterError, OtherLedgerError

POLL_S, POLLS = 0.1, 50


class Bound(msgspec.Struct, frozen=True):
    """The cluster and the streams that a ledger is bound to."""

    cluster_uid: str = ""  # of the Namespace kube-system; empty: not checked
    streams: str = ""  # when the bus's register was made, UTC microseconds


async def learn(register: Register | None) -> Bound:
    """Return what a ledger that begins will belong to: the cluster that ingest claimed the bus for.

    Raises:
        BusUnreachableError: no ingest has reported yet which cluster it observes, or no answer.
    """
    if register is None:
        return Bound()
    for _ in range(POLLS):
        if uid := await register.read(CLUSTER):
            return Bound(uid, await register.made())
        await asyncio.sleep(POLL_S)
    raise BusUnreachableError("No ingest has reported yet which cluster it observes: start one.")


async def confirm(register: Register | None, state: State) -> None:
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
