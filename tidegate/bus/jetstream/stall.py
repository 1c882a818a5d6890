"""Notices a stream that nats-server describes and does not store to.

A stream that is created while the server still removes the files of a deleted one of that name
loses its folder to that removal. From then on the server answers ``STREAM.INFO`` and gives no
answer to what is published there, until it is restarted or the stream is made anew. A disk that
fails under a stream does the same, or one that is full: also when there is room on it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

from tidegate.bus.jetstream.wire.requests import JetStream, OutgoingMessage, StreamInfo
from tidegate.errors import BusRefusedError, BusUnreachableError

STALLED_S = 10.0
"""A server that stores slowly answers within that; one that elects a leader describes nothing."""
TRIES = 3


class StallDetector:
    """What a publisher knows of a stream that gives it no answers, and how it is made anew."""

    def __init__(self, js: JetStream, stream: str, ensure: Callable[[], Awaitable[None]]) -> None:
        """``ensure`` makes the streams that are missing."""
        self._js, self._stream, self._ensure = js, stream, ensure
        self._since_s, self._tries = 0.0, 0
        self._last_state: tuple[int, int] | None = None  # incarnation and newest sequence

    def record_answer(self) -> None:
        """Note that the stream answered a publication, if only with a refusal."""
        self._last_state, self._tries = None, 0

    async def probe(self, message: OutgoingMessage) -> bool:
        """Have the stream store a message; return whether it answered, and replace one that stalls.

        Raises:
            BusUnreachableError: the server does not answer at all.
        """
        try:
            await self._js.publish(message)
        except BusUnreachableError:
            if await self.record_timeout():
                await self.recreate_stream()
            return False
        except BusRefusedError:
            pass  # it is full, so it stores what there is room for
        self.record_answer()
        return True

    async def record_timeout(self) -> bool:
        """Note that a publication got no answer; return whether the stream is to be made anew.

        That is so after ``TRIES`` of them in ``STALLED_S`` seconds, if all that time the server
        described one stream, to which nothing was added.

        Raises:
            BusUnreachableError: the server does not answer at all, so nothing follows.
        """
        try:
            info = await self._js.stream_info(self._stream)
        except BusUnreachableError:
            self.record_answer()
            raise
        now_s, as_is = asyncio.get_running_loop().time(), _stream_state(info)
        if as_is is None or as_is != self._last_state:
            self._last_state, self._since_s, self._tries = as_is, now_s, 0
        self._tries += 1
        return self._tries >= TRIES and now_s - self._since_s >= STALLED_S

    async def recreate_stream(self) -> None:
        """Delete the stream, if it is there, and have it made anew.

        Raises:
            BusUnreachableError: no answer.
        """
        with suppress(BusRefusedError):  # it is gone already
            await self._js.request(f"STREAM.DELETE.{self._stream}", {}, msgspec.Raw)
        await self._ensure()


def _stream_state(info: StreamInfo | None) -> tuple[int, int] | None:
    return None if info is None else (info.incarnation, info.state.last_seq)
