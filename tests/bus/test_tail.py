"""The newest messages of EVENTS are all of them, or it is not known which they are."""

from __future__ import annotations

import time
from random import Random

import pytest

from tests.bus.worlds import entries
from tests.parts.nats.connection import Blows, Connection
from tests.parts.nats.server import Server
from tests.parts.virtual import run_virtually
from tidegate.bus.jetstream.connection import NatsBus
from tidegate.bus.streams import StreamOptions
from tidegate.contracts.entry import Position
from tidegate.errors import BusUnreachableError


@pytest.mark.parametrize("heard", [0, 3])
def test_a_tail_that_did_not_come_as_a_whole_is_not_taken_for_the_newest(heard: int) -> None:
    """A follower that takes it for that believes a ledger to have ended that has just begun."""

    async def story() -> None:
        server, delivered = Server(lambda: time.time_ns() // 1_000), list[None]()

        def unheard() -> bool:
            delivered.append(None)
            return len(delivered) > heard

        writes = NatsBus(Connection(server, Random(0)).client, "local")
        reads = NatsBus(Connection(server, Random(0), blows=Blows(unheard=unheard)).client, "local")
        await writes.ensure_streams(StreamOptions())
        _, counts = await writes.event_publisher().last_published(Position())
        await writes.event_publisher().publish("led", counts, entries(1, 5))
        with pytest.raises(BusUnreachableError, match="do not come"):
            await reads.event_feed().newest()
        assert await writes.event_feed().newest() == ("led", 5)

    run_virtually(story())


@pytest.mark.parametrize("seed", range(5))
def test_a_tail_that_comes_late_is_read_all_the_same(seed: int) -> None:
    async def story() -> None:
        server = Server(lambda: time.time_ns() // 1_000)
        writes = NatsBus(Connection(server, Random(0)).client, "local")
        reads = NatsBus(Connection(server, Random(seed), lag_s_max=1.0).client, "local")
        await writes.ensure_streams(StreamOptions())
        _, counts = await writes.event_publisher().last_published(Position())
        await writes.event_publisher().publish("led", counts, entries(1, 5))
        assert await reads.event_feed().newest() == ("led", 5)

    run_virtually(story())
