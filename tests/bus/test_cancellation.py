"""A request that is cancelled ends, even in the very turn of the loop in which its answer comes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

import msgspec
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from tidegate.bus.jetstream.wire.requests import JetStream


class Waiting:
    """A client that waits for an answer as the library's does, and gets it from the test."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def request(self, *_: object, **__: object) -> Msg:
        self.asked.set()
        return Msg(cast("Client", self), data=await asyncio.wait_for(self.answer, 60))


def ask(client: Waiting) -> Coroutine[Any, Any, msgspec.Raw]:
    return JetStream(cast("Client", client)).request("INFO", {}, msgspec.Raw)


async def asking() -> tuple[Waiting, asyncio.Task[msgspec.Raw]]:
    client = Waiting()
    task = asyncio.create_task(ask(client))
    await client.asked.wait()
    return client, task


async def test_a_cancelled_request_ends_though_its_answer_comes_at_once() -> None:
    client, task = await asking()
    client.answer.set_result(b"{}")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_request_ends_with_its_answer_or_with_the_caller_s_patience() -> None:
    client, task = await asking()
    client.answer.set_result(b"{}")
    assert bytes(await task) == b"{}"
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await ask(Waiting())
