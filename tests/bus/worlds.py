"""The forms of the bus, each with what a test does to it from outside."""

from __future__ import annotations

import shutil
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Protocol

import msgspec
from msgspec.structs import replace
from nats.aio.client import Client

from tests.bus.memory.all_ports import MemoryBus
from tests.bus.memory.bodies import BODIES_BYTES
from tests.bus.memory.stream import New
from tests.parts.nats.connection import Connection
from tests.parts.nats.server import Server
from tidegate.bus import streams
from tidegate.bus.embedded import embedded_server
from tidegate.bus.jetstream.connection import NatsBus, open_bus
from tidegate.bus.jetstream.wire.requests import JetStream, OutgoingMessage
from tidegate.bus.ports import (
    BodyReader,
    BodyWriter,
    EventFeed,
    EventPublisher,
    Lease,
    ObservationPublisher,
    ObservationReader,
)
from tidegate.contracts.chain import START, digest_of
from tidegate.contracts.entry import Entry, Message, Position
from tidegate.errors import BusRefusedError

OBSERVED = "tidegate.local.observed.jobs%2Ebatch.team-a.j1"
NAMES = streams.stream_names("local")
ROOM = 20  # messages of OBSERVATIONS
SMALL = streams.StreamOptions(observations_messages=ROOM, bodies_bytes=BODIES_BYTES)


class Bodies(BodyWriter, BodyReader, Protocol):
    """Both sides of BODIES."""


class Bus(Protocol):
    """Whatever makes the ports."""

    def bodies(self) -> Bodies: ...

    def observation_reader(self) -> ObservationReader: ...

    def event_publisher(self) -> EventPublisher: ...

    def observation_publisher(self) -> ObservationPublisher: ...

    def event_feed(self) -> EventFeed: ...

    def lease(self, name: str, holder: str, ttl_s: int = 10) -> Lease: ...


class World(Protocol):
    """A bus, and the hand of an operator or of fate."""

    bus: Bus

    async def recreate(self, stream: str) -> None: ...

    async def lose(self, stream: str, seq: int) -> None: ...

    async def empty(self, stream: str) -> None: ...

    async def kept(self, stream: str) -> int: ...

    async def forge(self, row: Entry, headers: Mapping[str, str]) -> None: ...


class MemoryWorld:
    """The bus in this process."""

    def __init__(self) -> None:
        self.memory = MemoryBus(observations_max=ROOM)
        self.bus: Bus = self.memory
        self._streams = {
            NAMES.observations: self.memory.observations,
            NAMES.events: self.memory.events,
        }

    async def recreate(self, stream: str) -> None:
        self._streams[stream].recreate()

    async def lose(self, stream: str, seq: int) -> None:
        self._streams[stream].lose(seq)

    async def empty(self, stream: str) -> None:
        self._streams[stream].purge(self._streams[stream].last_seq)

    async def kept(self, stream: str) -> int:
        return self._streams[stream].count

    async def forge(self, row: Entry, headers: Mapping[str, str]) -> None:
        self.memory.events.store([New("f", row.subject, row.payload.encode(), headers)])


class NatsWorld:
    """The bus over a server, a real one or the simulated one."""

    def __init__(self, bus: NatsBus, client: Client, stalls: Callable[[str], None]) -> None:
        self.bus: Bus = bus
        self._stalls = stalls
        self.nats, self.js = bus, JetStream(client)

    async def recreate(self, stream: str) -> None:
        await self.js.request(f"STREAM.DELETE.{stream}", {}, msgspec.Raw)
        await self.nats.ensure_streams(SMALL)

    async def lose(self, stream: str, seq: int) -> None:
        await self.js.request(f"STREAM.MSG.DELETE.{stream}", {"seq": seq}, msgspec.Raw)

    async def empty(self, stream: str) -> None:
        await self.js.request(f"STREAM.PURGE.{stream}", {}, msgspec.Raw)

    async def kept(self, stream: str) -> int:
        stream_info = await self.js.stream_info(stream)
        return stream_info.state.messages if stream_info else 0

    async def forge(self, row: Entry, headers: Mapping[str, str]) -> None:
        await self.js.publish(OutgoingMessage(row.subject, row.payload.encode(), headers))

    async def stall(self, stream: str) -> None:
        self._stalls(stream)
        with suppress(BusRefusedError):  # the server wants to write, and sees that it cannot
            await self.empty(stream)


@asynccontextmanager
async def nats_world(folder: Path) -> AsyncGenerator[NatsWorld, None]:
    client = Client()
    async with (
        embedded_server(folder) as url,
        open_bus(url, cluster="local", name="tests", patience_s=5) as bus,
    ):
        await bus.ensure_streams(SMALL, members=("east",))
        await client.connect(url)
        try:
            yield NatsWorld(bus, client, lambda stream: _remove(folder, stream))
        finally:
            await client.close()


@asynccontextmanager
async def simulated_world() -> AsyncGenerator[NatsWorld, None]:
    server = Server(lambda: time.time_ns() // 1_000)
    ways = [Connection(server, Random(0)) for _ in range(2)]
    bus = NatsBus(ways[0].client, "local", patience_s=5)
    await bus.ensure_streams(SMALL, members=("east",))
    yield NatsWorld(bus, ways[1].client, server.stalled.add)
    await bus.close()


def _remove(folder: Path, stream: str) -> None:
    """Take a stream's files away from the server that writes them."""
    [files] = folder.rglob(f"streams/{stream}")
    shutil.rmtree(files)


async def tell(publisher: ObservationPublisher, *texts: str) -> None:
    for text in texts:
        await publisher.publish(OBSERVED, text.encode(), f"s:{text}")


async def read_all(reader: ObservationReader, after: Position, count: int) -> list[Message]:
    """Pull until so many messages came; the suite's own limit ends a wait that is in vain."""
    messages = list[Message]()
    while len(messages) < count:
        messages += await reader.pull(
            messages[-1].at if messages else after, count_max=100, wait_s=1
        )
    return messages


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.payload.decode() for message in messages]


def entries(first: int, last: int) -> list[Entry]:
    """Return rows of one ledger; row n says that it was written in the microsecond n."""
    subject = "tidegate.local.event.WorkloadAdmitted.team-a.ns.job-x"
    made, before = list[Entry](), START
    for n in range(1, last + 1):
        place = (0, n, 1, 1, 10**15 + n, "local", "WorkloadAdmitted", subject)
        row = Entry(*place, said(n).decode(), b"")
        before = digest_of(before, row)
        made.append(replace(row, hash=before))
    assert made[first - 1 :]
    return made[first - 1 :]


def said(n: int) -> bytes:
    """Return the payload of row n."""
    return b'{"at_us":%d}' % (10**15 + n)
