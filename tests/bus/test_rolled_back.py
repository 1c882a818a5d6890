"""A server that lost its newest observations gives their numbers to others: those are not lost."""

from __future__ import annotations

import asyncio
from random import Random
from unittest.mock import patch

from nats.aio.msg import Msg

from tests.bus.worlds import NAMES, OBSERVED, read_all, tell, texts
from tests.parts.nats.connection import Connection
from tests.parts.nats.server import Server
from tests.parts.stage import alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.bus.jetstream.connection import NatsBus
from tidegate.bus.ports import ObservationPublisher
from tidegate.bus.streams import StreamOptions
from tidegate.contracts.entry import Position


class Crashing:
    """A bus whose server lost what is unwritten, and a reader whose connection that broke."""

    def __init__(self) -> None:
        self.server = Server(lambda: round(asyncio.get_running_loop().time() * 1_000_000) + 1)
        self.connection = Connection(self.server, Random(0))
        self.writes = NatsBus(Connection(self.server, Random(0)).client, "local")
        self.reads = NatsBus(self.connection.client, "local")
        self.connection.reconnected = self.reads.notify_reconnected

    async def begin(self) -> ObservationPublisher:
        """Make the streams, and tell three observations."""
        await self.writes.ensure_streams(StreamOptions())
        port = self.writes.observation_publisher()
        await tell(port, "a", "b", "c")
        return port

    async def crash(self, lost: int) -> None:
        """Lose the newest observations; return once the reader is connected again."""
        self.server.streams[NAMES.observations].roll_back(lost)
        self.server.restart()
        self.connection.cut()
        while not self.connection.client.is_connected:
            await asyncio.sleep(0.1)

    def kept(self) -> list[str]:
        """Return what the stream holds."""
        stream = self.server.streams.get(NAMES.observations)
        return [] if stream is None else [record.payload.decode() for record in stream.after(0)]


def test_what_took_the_place_of_lost_observations_is_not_purged_and_not_passed_over() -> None:
    async def story() -> None:
        bus = Crashing()
        port, reader = await bus.begin(), bus.reads.observation_reader()
        read = (await read_all(reader, Position(), 3))[-1].at
        await bus.crash(lost=2)
        await tell(port, "B", "C", "d")
        await reader.purge_through(read)
        assert bus.kept() == ["a", "B", "C", "d"]
        pulling = asyncio.ensure_future(read_all(reader, read, 1))
        while bus.kept():
            await asyncio.sleep(0.1)
        await port.publish(OBSERVED, b"all again", "s:again")
        [again] = await pulling
        assert (again.payload, again.at.incarnation == read.incarnation) == (b"all again", False)

    run_virtually(story())


def test_a_request_in_the_place_of_a_lost_one_is_read() -> None:
    """It has the same words: what tells them apart is their ids."""

    async def story() -> None:
        bus = Crashing()
        await bus.begin()
        heard = list[str]()

        async def hear() -> None:
            async for reason in bus.reads.observation_publisher().resync_requests():
                heard.append(reason)

        async with alongside(hear()):
            await asyncio.sleep(1)
            await bus.writes.observation_reader().request_resync("a hole")
            await eventually(lambda: heard == ["a hole"])
            bus.server.streams[NAMES.resyncs].roll_back(1)
            bus.server.restart()
            await bus.writes.observation_reader().request_resync("a hole")
            bus.connection.cut()
            await eventually(lambda: heard.count("a hole") == 2)

    run_virtually(story())


def test_a_reader_begins_no_further_than_a_stream_that_loses_its_tail_meanwhile() -> None:
    async def story() -> None:
        bus = Crashing()
        port, reader = await bus.begin(), bus.reads.observation_reader()
        read = (await read_all(reader, Position(), 3))[-1].at
        stream, asks = bus.server.streams[NAMES.observations], bus.connection.request

        async def lose(
            subject: str,
            payload: bytes,
            timeout: float,  # noqa: ASYNC109 - nats-py's own form
            headers: dict[str, str] | None = None,
        ) -> Msg:
            if "CONSUMER.CREATE" in subject and stream.last_seq == read.seq:
                stream.roll_back(2)
            return await asks(subject, payload, timeout, headers)

        bus.connection.cut()
        with patch.object(bus.connection, "request", lose):
            pulling = asyncio.ensure_future(read_all(reader, read, 1))
            await eventually(lambda: not bus.kept())
        await port.publish(OBSERVED, b"all again", "s:again")
        [again] = await pulling
        assert again.at.incarnation != read.incarnation

    run_virtually(story())


def test_a_reader_goes_on_where_nothing_was_lost() -> None:
    async def story() -> None:
        bus = Crashing()
        port, reader = await bus.begin(), bus.reads.observation_reader()
        read = (await read_all(reader, Position(), 3))[-1].at
        await bus.crash(lost=0)
        await tell(port, "d")
        assert texts(await read_all(reader, read, 1)) == ["d"]
        await reader.purge_through(read)
        assert bus.kept() == ["d"]

    run_virtually(story())
