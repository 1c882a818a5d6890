"""Ordered reading of one stream by position, without acknowledgements.

An ephemeral pull consumer delivers from the position on and is thrown away at the first doubt: a
consumer sequence out of turn, a missed heartbeat, a reconnection, another incarnation. The next
read makes a new one from the caller's position, so the server keeps nothing that could be lost.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import msgspec
import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from tidegate.bus.headers import MESSAGE_ID
from tidegate.bus.jetstream.wire.requests import JetStream
from tidegate.contracts.entry import Position
from tidegate.errors import BusRefusedError, BusUnreachableError

PULL_MESSAGES = 2_000
PULL_BYTES = 64 * 1024 * 1024
PULL_EXPIRES_S = 30
HEARTBEAT_S = 1
SILENCE_S_MAX = 3 * HEARTBEAT_S
KEEP_S = 120  # how long the server keeps an idle consumer
_NS = 1_000_000_000


class Delivered(NamedTuple):
    """A message with its place in the stream."""

    at: Position
    at_us: int
    subject: str
    payload: bytes
    headers: Mapping[str, str]


OnLostTail = Callable[[], Awaitable[None]]


class StreamReader:
    """Reads one stream; one read at a time."""

    def __init__(
        self, js: JetStream, stream: str, subject: str = "", on_lost_tail: OnLostTail | None = None
    ) -> None:
        self._js, self._stream, self._subject = js, stream, subject
        self._on_lost_tail = on_lost_tail
        self._stop_listening = js.on_reconnect(self._invalidate)
        self._last: Delivered | None = None  # the newest that the caller was handed
        self._next: Position | None = None  # what the caller will read after, if all goes well
        self._subscription: Subscription | None = None
        self._arrived = asyncio.Event()
        self._buffer = deque[Delivered]()
        self._consumer, self._incarnation, self._consumer_seq = "", 0, 0
        self._requested = 0
        self._pending_request: asyncio.Future[None] | None = None
        self._received = 0.0
        self._is_valid = False
        self.is_uncertain = False  # whether the stream is still what was read; the next read knows

    async def read(self, after: Position, count_max: int, wait_s: float) -> list[Delivered]:
        """Return up to ``count_max`` messages after a position; wait at most ``wait_s`` for one.

        A position of another incarnation counts as the stream's beginning.

        Raises:
            BusUnreachableError: no answer, or there is no such stream.
        """
        if not self._is_valid or after != self._next:
            await self._open_consumer(after)
        if not self._buffer:
            await self._wait_for_message(wait_s)
        await self._drain_socket(count_max)
        buffer = self._buffer
        batch = [buffer.popleft() for _ in range(min(count_max, len(buffer)))]
        if batch:
            self._last, self._next = batch[-1], batch[-1].at
        elif not self._is_valid:
            self._next = None
        await self._request_batch()
        return batch

    async def close(self) -> None:
        """Stop reading and forget the consumer."""
        self._stop_listening()
        await self._drop_consumer()

    def _invalidate(self) -> None:
        self._is_valid, self.is_uncertain = False, True
        self._arrived.set()

    async def _wait_for_message(self, wait_s: float) -> None:
        """Wait for a message, for as long as the server's heartbeats come."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + wait_s
        self._arrived.clear()
        while not self._arrived.is_set() and loop.time() < until_s:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(HEARTBEAT_S, until_s - loop.time())):
                    await self._arrived.wait()
            if not self._buffer and loop.time() - self._received > SILENCE_S_MAX:
                self._invalidate()

    async def _drain_socket(self, count_max: int) -> None:
        """Let messages in the socket's buffer arrive: bigger batches, no waiting."""
        buffered = -1
        while buffered < len(self._buffer) < count_max:
            buffered = len(self._buffer)
            for _ in range(3):
                await asyncio.sleep(0)

    async def _open_consumer(self, after: Position) -> None:
        await self._drop_consumer()
        for _ in range(5):
            start = await self._start_sequence(after)
            if start is None:
                continue
            incarnation, seq = start
            self._incarnation = incarnation
            await self._make_consumer(seq)
            if await self._is_same_stream(incarnation, seq - 1):
                self._next, self._is_valid, self.is_uncertain = after, True, False
                await self._request_batch()
                return
            await self._drop_consumer()
        raise BusUnreachableError(f"The stream {self._stream} keeps being created again.")

    async def _is_same_stream(self, incarnation: int, seq: int) -> bool:
        """Return whether the stream is still the one that a consumer was made for, with its tail.

        A server that came back without its newest messages gives their sequences to others, which a
        consumer that begins behind them would pass over.
        """
        info = await self._js.stream_info(self._stream)
        if info is None or info.incarnation != incarnation:
            return False
        return info.state.last_seq >= seq

    async def _start_sequence(self, after: Position) -> tuple[int, int] | None:
        info = await self._js.stream_info(self._stream)
        if info is None and self._on_lost_tail is None:
            raise BusUnreachableError(f"There is no stream {self._stream}.")
        if info is not None and info.incarnation != after.incarnation:
            return info.incarnation, 1
        behind = info is None or info.state.last_seq < after.seq
        another = not behind and await self._is_replaced(after)
        if self._on_lost_tail is not None and (behind or another):
            await self._on_lost_tail()
            return None
        assert info is not None
        return info.incarnation, min(after.seq, info.state.last_seq) + (not another)

    async def _is_replaced(self, after: Position) -> bool:
        """Return whether another message stands now where the newest one was read.

        Then the stream has lost its tail, and was filled past that place unnoticed.
        """
        last = self._last
        if last is None or last.at != after:
            return False
        stands = await self._js.message_at(self._stream, after.seq)
        if stands is None:
            return False
        stands_id = (stands.headers or {}).get(MESSAGE_ID)
        return (stands_id, stands.data) != (last.headers.get(MESSAGE_ID), last.payload)

    async def _make_consumer(self, seq: int) -> None:
        client = self._js.client
        inbox = client.new_inbox()
        self._consumer = inbox.rpartition(".")[2]
        self._consumer_seq, self._requested = 0, 0
        self._received = asyncio.get_running_loop().time()
        config: dict[str, object] = {
            "name": self._consumer,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": seq,
            "ack_policy": "none",
            "mem_storage": True,
            "num_replicas": 1,
            "inactive_threshold": KEEP_S * _NS,
        }
        if self._subject:
            config["filter_subject"] = self._subject
        self._subscription = await self._js.subscribe(inbox, partial(self._receive, self._consumer))
        verb = f"CONSUMER.CREATE.{self._stream}.{self._consumer}"
        if self._subject:
            verb += f".{self._subject}"
        body = {"stream_name": self._stream, "config": config}
        try:
            await self._js.request(verb, body, msgspec.Raw)
        except BusRefusedError as error:
            raise BusUnreachableError(str(error)) from error

    async def _request_batch(self) -> None:
        if not self._is_valid or self._requested > 0 or len(self._buffer) > PULL_MESSAGES:
            return
        self._requested = PULL_MESSAGES
        body = {
            "batch": PULL_MESSAGES,
            "max_bytes": PULL_BYTES,
            "expires": PULL_EXPIRES_S * _NS,
            "idle_heartbeat": HEARTBEAT_S * _NS,
        }
        assert self._subscription is not None
        verb = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._consumer}"
        try:
            await self._js.client.publish(
                verb, msgspec.json.encode(body), reply=self._subscription.subject
            )
        except (nats.errors.Error, OSError):
            self._invalidate()

    def _receive(self, consumer: str, msg: Msg) -> None:
        if consumer != self._consumer:
            return
        self._received = asyncio.get_running_loop().time()
        if not msg.reply:
            self._handle_status(msg.headers or {})
            return
        stream_seq, consumer_seq, at_ns = _parse_reply_subject(msg.reply)
        self._consumer_seq += 1
        if consumer_seq != self._consumer_seq:
            self._invalidate()
        if not self._is_valid:
            return
        at = Position(self._incarnation, stream_seq)
        self._buffer.append(Delivered(at, at_ns // 1_000, msg.subject, msg.data, msg.headers or {}))
        self._requested -= 1
        self._arrived.set()
        self._schedule_request()

    def _schedule_request(self) -> None:
        if self._requested <= 0 and (self._pending_request is None or self._pending_request.done()):
            self._pending_request = asyncio.ensure_future(self._request_batch())

    def _handle_status(self, headers: Mapping[str, str]) -> None:
        """Handle a status message of the server about the pull request itself."""
        status = headers.get("Status", "")
        if status == "100":
            return
        if status == "408" or (status == "409" and "Deleted" not in headers.get("Description", "")):
            self._requested = 0
            self._schedule_request()
        else:
            self._invalidate()

    async def _drop_consumer(self) -> None:
        self._is_valid, self._next = False, None
        self._buffer.clear()
        if self._pending_request is not None:
            self._pending_request.cancel()
        subscription, consumer = self._subscription, self._consumer
        self._subscription, self._consumer = None, ""
        if subscription is None:
            return
        with suppress(nats.errors.Error, OSError):
            await subscription.unsubscribe()
        with suppress(BusRefusedError, BusUnreachableError):
            if self._js.client.is_connected:
                await self._js.request(
                    f"CONSUMER.DELETE.{self._stream}.{consumer}", {}, msgspec.Raw
                )


def _parse_reply_subject(reply: str) -> tuple[int, int, int]:
    """Return stream sequence, consumer sequence and nanoseconds from a delivery's reply subject.

    Servers with domains put two more words before the stream's name and one behind.
    """
    words = reply.split(".")
    first = 5 if len(words) == 9 else 7  # noqa: PLR2004 - the two forms of JetStream's ADR-15
    return int(words[first]), int(words[first + 1]), int(words[first + 2])
