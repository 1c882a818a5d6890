"""Requests to tell again are heard whatever was missing when a teller began; in virtual time."""

from __future__ import annotations

import asyncio
from random import Random

from tests.parts.nats.connection import Connection
from tests.parts.nats.server import Server
from tests.parts.virtual import run_virtually
from tidegate.bus.jetstream.connection import NatsBus
from tidegate.bus.streams import StreamOptions


async def _asked_before_the_second_try() -> str:
    bus = NatsBus(Connection(Server(lambda: 1), Random(0)).client, "local")
    heard = asyncio.ensure_future(anext(bus.observation_publisher().resync_requests()))
    await asyncio.sleep(0.5)  # it has looked for the stream once by now
    assert not heard.done()
    await bus.ensure_streams(StreamOptions())
    await bus.observation_reader().request_resync("a hole")
    async with asyncio.timeout(60):
        return await heard


def test_a_resync_is_heard_that_was_asked_for_while_the_teller_waited_for_the_stream() -> None:
    assert run_virtually(_asked_before_the_second_try()) == "a hole"
