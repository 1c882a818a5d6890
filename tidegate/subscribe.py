"""Subscribe to what Tidegate observes and decides: the public client for programs.

    from tidegate.subscribe import subscribe

    async for message in subscribe("nats://127.0.0.1:4222", types=["WorkloadAdmitted"]):
        print(message.seq, message.event.workload)

Events come in the ledger's order, without a gap and none twice. What the stream EVENTS no longer
holds is read from the ledger, if one is named; without one a gap is an error, never silence.

A ledger may have several partitions, each with a stream and seqs of its own. Their events come as
they are published: in order within each partition, and nearly so in time.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tidegate.bus.catchup import LedgerReader, catchup_entries, merge_partitions
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import (
    ClusterQueueDefined,
    ClusterQueueRemoved,
    FactEvent,
    LocalQueueDefined,
)
from tidegate.contracts.subjects import parse_event_subject
from tidegate.errors import BusRefusedError, NotSupportedError

if TYPE_CHECKING:
    from tidegate.bus.jetstream.connection import NatsBus

__all__ = ["DEFINING", "LedgerEvent", "SubscriptionFilter", "newest", "positions", "subscribe"]

CONNECT_S = 10.0
DEFINING = frozenset(
    each.__name__ for each in (ClusterQueueDefined, ClusterQueueRemoved, LocalQueueDefined)
)
"""Types about a ClusterQueue that only the payload names."""


class LedgerEvent(NamedTuple):
    """One event, and the ledger's row that it stands in."""

    seq: int
    event: FactEvent | DecisionEvent
    entry: Entry

    @property
    def partition(self) -> int:
        """Return the partition whose ledger it stands in, and whose ``seq`` it is."""
        return self.entry.partition


class SubscriptionFilter(NamedTuple):
    """Which events are wanted; an empty filter means any."""

    types: Collection[str] = ()
    cluster_queue: str = ""
    namespace: str = ""

    def matches(self, entry: Entry) -> bool:
        """Return whether an event is wanted."""
        if self.types and entry.type not in self.types:
            return False
        queue, namespace, _ = parse_event_subject(entry.subject)
        if self.namespace not in {"", namespace}:
            return False
        return self.cluster_queue in {"", queue or _defined(entry)}


def _defined(entry: Entry) -> str:
    """Return the ClusterQueue that a definition is about, which its subject does not name."""
    if entry.type not in DEFINING:
        return ""
    match decode(entry.payload):
        case ClusterQueueDefined(name=name) | ClusterQueueRemoved(name=name):
            return name
        case LocalQueueDefined(spec=spec):
            return spec.cluster_queue
        case _:
            return ""


async def subscribe(  # noqa: PLR0913 - each narrows the events
    url: str,
    *,
    ledger: str = "",
    since: int | Mapping[int, int] | None = None,
    types: Collection[str] = (),
    cluster_queue: str = "",
    namespace: str = "",
    cluster: str = "local",
    credentials: str = "",
    ca: str = "",
    partition: int | None = None,
) -> AsyncGenerator[LedgerEvent, None]:
    """Yield events as they are published, for as long as the caller listens.

    ``since`` is the first seq to yield, or None for only new ones; ``ledger`` the URL of the ledger
    to catch up from, which is opened read-only. ``types`` are names such as ``WorkloadAdmitted``;
    ``credentials`` the path of a NATS credentials file, ``ca`` that of the CA of its certificate.
    ``partition``: of one alone; None: of all that there are when it begins. Of several, ``since``
    may be a first seq for each; one that it does not name begins with its first event.

    Raises:
        MissedEventsError: EVENTS no longer holds what comes next, and no ledger is named.
        BusUnreachableError: no connection, or the bus stays silent too long.
        LedgerUnreachableError: the ledger cannot be read.
        UndecodableError: an event is newer than this version knows.
    """
    selection = SubscriptionFilter(types, cluster_queue, namespace)
    with _opened(ledger) as past_of:
        async with _bus(url, cluster=cluster, credentials=credentials, ca=ca) as bus:
            numbers = (partition,) if partition is not None else await _partitions(bus)
            histories = [
                catchup_entries(
                    bus.event_feed(partition=number), past_of(number), _after(since, number)
                )
                for number in numbers
            ]
            async with aclosing(merge_partitions(histories)) as entries:
                async for entry in entries:
                    if selection.matches(entry):
                        yield LedgerEvent(entry.seq, decode(entry.payload), entry)


async def newest(
    url: str, *, cluster: str = "local", credentials: str = "", ca: str = "", partition: int = 0
) -> int:
    """Return the seq of a partition's newest event; 0 if there is none.

    A caller that reads it first, and subscribes from the next seq on, misses nothing of what
    comes of it.

    Raises:
        BusUnreachableError: no connection, or no answer.
    """
    async with _bus(url, cluster=cluster, credentials=credentials, ca=ca) as bus:
        _, seq = await bus.event_feed(partition=partition).newest()
        return seq


async def positions(
    url: str, *, cluster: str = "local", credentials: str = "", ca: str = ""
) -> dict[int, int]:
    """Return the seq of each partition's newest event, 0 where there is none, by partition.

    Raises:
        BusUnreachableError: no connection, or no answer.
    """
    async with _bus(url, cluster=cluster, credentials=credentials, ca=ca) as bus:
        numbers = await _partitions(bus)
        return {number: (await bus.event_feed(partition=number).newest())[1] for number in numbers}


async def _partitions(bus: NatsBus) -> tuple[int, ...]:
    try:
        return await bus.register().partitions()
    except BusRefusedError:
        return (0,)  # no scheduler has made the streams yet, or this user may not ask


def _after(since: int | Mapping[int, int] | None, partition: int) -> int | None:
    if since is None:
        return None
    return (since if isinstance(since, int) else since.get(partition, 1)) - 1


@asynccontextmanager
async def _bus(url: str, *, cluster: str, credentials: str, ca: str) -> AsyncGenerator[NatsBus]:
    from tidegate.bus.jetstream.connection import open_bus  # noqa: PLC0415 - loads nats

    async with open_bus(
        url,
        cluster=cluster,
        name="client",
        credentials=credentials,
        ca=ca,
        patience_s=CONNECT_S,
    ) as bus:
        yield bus


@contextmanager
def _opened(ledger: str) -> Generator[Callable[[int], LedgerReader | None]]:
    """Lend what gives the ledger of each partition."""
    if not ledger:
        yield lambda _partition: None
        return
    try:
        from store.access.engine import open_engine  # noqa: PLC0415 - SQL may be absent
        from store.ledger import SqlLedger  # noqa: PLC0415
    except ImportError as error:
        raise NotSupportedError(
            f"This installation reads no ledger ({error}): pip install 'tidegate[cli]'."
        ) from error
    engine = open_engine(ledger, read_only=True)
    try:
        yield partial(SqlLedger, engine)
    finally:
        engine.dispose()
