"""Subscribe to what Tidegate decides: the small public client.

    async with connect("nats://127.0.0.1:4222") as events:
        async for message in events.subscribe("WorkloadAdmitted", cluster_queue="team-a"):
            print(message.seq, message.event.workload)

Any NATS client in any language can do the same: the subject is
``tidegate.<cluster>.event.<Type>.<cluster queue>.<namespace>.<workload>`` on the stream
``tidegate_<cluster>_events``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import NamedTuple

from tidegate.bus.jetstream.connection import NatsBus, open_bus
from tidegate.bus.jetstream.events import NatsEventFeed
from tidegate.bus.witness import Witness
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.facts import FactEvent
from tidegate.contracts.subjects import events_prefix, token

CONNECT_S = 10.0


class LedgerEvent(NamedTuple):
    """One entry of the ledger as a subscriber receives it."""

    ledger_id: str
    seq: int
    subject: str
    event: FactEvent | DecisionEvent


class EventClient:
    """A connection that reads EVENTS and nothing else."""

    def __init__(self, bus: NatsBus, cluster: str, partition: int = 0) -> None:
        self._bus, self._events = bus, events_prefix(cluster, partition)

    async def subscribe(
        self, event_type: str = "", *, cluster_queue: str = "", after: int | None = None
    ) -> AsyncIterator[LedgerEvent]:
        """Yield events in order, only new ones or from the one behind ledger seq ``after``.

        ``event_type`` and ``cluster_queue`` narrow it; empty means any. What EVENTS no longer
        holds is in the ledger.

        Raises:
            BusUnreachableError: the bus stays silent too long.
            UndecodableError: an event is newer than this client knows.
        """
        async with aclosing(self._feed(event_type, cluster_queue).follow(after)) as following:
            async for message in following:
                yield LedgerEvent(
                    message.ledger_id, message.seq, message.subject, decode(message.payload)
                )

    async def witness(self) -> Witness | None:
        """Return the ledger's head by the newest event; None if EVENTS holds none.

        Raises:
            BusUnreachableError: no answer.
        """
        return await self._bus.witness()

    def _feed(self, event_type: str, cluster_queue: str) -> NatsEventFeed:
        kind, queue = event_type or "*", token(cluster_queue) if cluster_queue else "*"
        return self._bus.event_feed(f"{self._events}.{kind}.{queue}.>")


@asynccontextmanager
async def connect(  # noqa: PLR0913 - each says how it is joined
    url: str,
    *,
    cluster: str = "local",
    credentials: str = "",
    ca: str = "",
    connect_s: float = CONNECT_S,
    partition: int = 0,
) -> AsyncGenerator[EventClient, None]:
    """Connect to NATS and yield a client of one partition's events; files as ``open_bus`` has them.

    Raises:
        BusUnreachableError: no connection within ``connect_s`` seconds.
    """
    async with open_bus(
        url,
        cluster=cluster,
        name="client",
        credentials=credentials,
        ca=ca,
        patience_s=connect_s,
        partition=partition,
    ) as bus:
        yield EventClient(bus, cluster, partition)
