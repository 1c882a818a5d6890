"""After a reconnect, waiting requests and listeners are notified in a known order."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import cast

import msgspec
from nats.aio.client import Client

from tidegate.bus.jetstream.wire.requests import JetStream
from tidegate.errors import BusUnreachableError

MANY = range(12)
"""In a set these would stand in order once in 479 million times."""


class Silent:
    """A client whose server answers nothing."""

    async def request(self, *_: object, **__: object) -> None:
        await asyncio.get_running_loop().create_future()


async def test_waits_end_in_the_order_in_which_they_began() -> None:
    js, ended = JetStream(cast("Client", Silent())), list[int]()

    async def ask(number: int) -> None:
        try:
            await js.request("STREAM.INFO.a", {}, msgspec.Raw)
        except BusUnreachableError:
            ended.append(number)

    asked = [asyncio.ensure_future(ask(number)) for number in MANY]
    await asyncio.sleep(0)  # all wait
    await js.notify_reconnected()
    await asyncio.gather(*asked)
    assert ended == list(MANY)


async def test_listeners_are_called_in_the_order_in_which_they_came() -> None:
    js, numbers = JetStream(cast("Client", Silent())), list[int]()
    for number in MANY:
        js.on_reconnect(partial(numbers.append, number))
    await js.notify_reconnected()
    assert numbers == list(MANY)
