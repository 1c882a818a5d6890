"""That connecting to NATS ends in time, also where nats-py passes over a cancellation."""

from __future__ import annotations

import asyncio

import pytest

from tidegate.bus.jetstream.connection import open_bus
from tidegate.bus.jetstream.wire.client import QuickClient
from tidegate.errors import BusUnreachableError

BACKSTOP_S = 30.0


class Deaf:
    """A client's ``connect`` that passes over its first cancellation, as nats-py's may."""

    def __init__(self) -> None:
        self.cancelled = 0

    async def connect(self, **_options: object) -> None:
        while self.cancelled < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
        raise asyncio.CancelledError

    async def close(self) -> None:
        """Nothing was opened."""


async def opened() -> None:
    async with open_bus("nats://127.0.0.1:1", cluster="local", name="test", patience_s=0.01):
        pass


async def test_patience_ends_though_a_cancellation_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deaf = Deaf()

    async def connect(_: QuickClient, **options: object) -> None:
        await deaf.connect(**options)

    async def close(_: QuickClient) -> None:
        await deaf.close()

    monkeypatch.setattr(QuickClient, "connect", connect)
    monkeypatch.setattr(QuickClient, "close", close)
    with pytest.raises(BusUnreachableError):
        await asyncio.wait_for(opened(), BACKSTOP_S)
    assert deaf.cancelled == 2
