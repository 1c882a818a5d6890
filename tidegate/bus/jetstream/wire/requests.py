"""JetStream's own requests over one connection, typed, with its errors turned into ours.

The server's JSON API is spoken directly: the answers that matter here (creation times to the
microsecond, refusals by number) are exact there, and many messages cost one round trip.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeVar

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from tidegate.bus.headers import EXPECTED_ID, MESSAGE_ID
from tidegate.bus.jetstream.wire.cancellation import preserve_cancellation
from tidegate.bus.jetstream.wire.client import QuickClient, Take
from tidegate.bus.retention import EventsRetention
from tidegate.errors import BusRefusedError, BusUnreachableError

NOT_FOUND_CODES = frozenset({10014, 10037, 10059})  # consumer, message, stream
FULL_CODES = frozenset({10023, 10047, 10054, 10077})  # storage, memory, and the stream's own limits
PASSING_CODES = frozenset(
    {
        10005,  # no suitable peers for placement
        10008,  # JetStream system temporarily unavailable
        10009,  # this server is not the leader
        10010,  # nor assigned
        10011,  # nor active
        10049,  # error creating a store for a stream: a peer comes back
        10074,  # not so many peers for the replicas, now
        10118,  # the stream is offline
        10119,  # the consumer is
        10158,  # a message of this id is being stored: a retry came before the quorum
    }
)
"""Errors of a NATS cluster while one of its servers is gone, starts, or elects a leader."""
WRONG_SEQUENCE_CODE = 10071
WRONG_ID_CODE = 10070
CHAIN_MESSAGES_MAX = 1_000
CHAIN_BYTES_MAX = 8 * 1024 * 1024

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CUT_OFF = (
    nats.errors.TimeoutError,
    nats.errors.NoRespondersError,
    nats.errors.ConnectionClosedError,
    nats.errors.ConnectionReconnectingError,
    nats.errors.ConnectionDrainingError,
    nats.errors.OutboundBufferLimitError,
    nats.errors.StaleConnectionError,
    TimeoutError,
    OSError,
)
_ANY = TypeVar("_ANY")


class OutgoingMessage(NamedTuple):
    """A message to be stored."""

    subject: str
    payload: bytes
    headers: Mapping[str, str]


class PublishAck(msgspec.Struct, frozen=True):
    """The server's word that a message is stored."""

    seq: int
    duplicate: bool = False


class StreamState(msgspec.Struct, frozen=True):
    """What a stream holds."""

    messages: int
    first_seq: int
    last_seq: int  # stays when its message is purged or expires
    bytes: int = 0
    first_ts: datetime = _EPOCH
    last_ts: datetime = _EPOCH


class StreamInfo(msgspec.Struct, frozen=True):
    """A stream as the server describes it."""

    created: datetime
    config: dict[str, object]
    state: StreamState
    ts: datetime | None = None  # the server's clock as it answered

    @property
    def incarnation(self) -> int:
        """Return the time of creation, UTC microseconds."""
        return (self.created - _EPOCH) // timedelta(microseconds=1)


def retention_of(info: StreamInfo) -> EventsRetention | None:
    """Return how far a stream reaches back; None: it is empty, or nothing bounds it."""
    bytes_max, age_ns = info.config.get("max_bytes"), info.config.get("max_age")
    if (
        not info.state.messages
        or not isinstance(bytes_max, int)
        or not isinstance(age_ns, int)
        or min(bytes_max, age_ns) <= 0
    ):
        return None  # a limit was lifted: nothing of it is cut
    return EventsRetention(
        span_s=(info.state.last_ts - info.state.first_ts).total_seconds(),
        held_bytes=info.state.bytes,
        bytes_max=bytes_max,
        age_s=age_ns / 1_000_000_000,
    )


class _Problem(msgspec.Struct, frozen=True):
    code: int = 0
    err_code: int = 0
    description: str = ""


class _Answer(msgspec.Struct, frozen=True):
    error: _Problem | None = None


class _Purged(msgspec.Struct, frozen=True):
    purged: int = 0


class JetStream:
    """Requests to JetStream over a connection that reconnects by itself."""

    def __init__(self, client: Client, request_s: float = 2.0, making_s: float = 10.0) -> None:
        """Wait ``request_s`` for an answer: a server that died gives none, and another is asked.

        To make a stream on several servers takes them longer: ``making_s``.
        """
        self.client = client
        self._request_s, self._making_s = request_s, making_s
        # In order: a set would have another in each process.
        self._listeners = dict[Callable[[], None], None]()
        self._waits = dict[asyncio.Timeout, None]()

    def on_reconnect(self, reconnected: Callable[[], None]) -> Callable[[], None]:
        """Have ``reconnected`` called after each reconnection; return what ends that."""
        self._listeners[reconnected] = None
        return lambda: self._listeners.pop(reconnected, None)

    async def notify_reconnected(self) -> None:
        """Call all listeners, and end the waits for answers of the old connection."""
        for wait in self._waits:
            wait.reschedule(asyncio.get_running_loop().time())
        for listener in list(self._listeners):
            listener()

    async def subscribe(self, subject: str, handler: Take) -> Subscription:
        """Subscribe, and have each message handed to ``handler``, in order."""
        if isinstance(self.client, QuickClient):
            return await self.client.subscribe_directly(subject, handler)

        async def handle(message: Msg) -> None:
            handler(message)

        return await self.client.subscribe(
            subject, cb=handle, pending_msgs_limit=0, pending_bytes_limit=0
        )

    async def stream_info(self, stream: str) -> StreamInfo | None:
        """Return the server's info of a stream; None if there is none.

        Raises:
            BusUnreachableError: no answer.
        """
        try:
            return await self.request(f"STREAM.INFO.{stream}", {}, StreamInfo)
        except BusRefusedError as error:
            if error.code in NOT_FOUND_CODES:
                return None
            raise

    async def existing_stream(self, stream: str) -> StreamInfo:
        """Return the server's info of a stream that must exist.

        Raises:
            BusUnreachableError: no answer, or there is none.
        """
        info = await self.stream_info(stream)
        if info is None:
            raise BusUnreachableError(f"There is no stream {stream}.")
        return info

    async def purge_below(self, stream: str, below_seq: int) -> int:
        """Remove what precedes stream sequence ``below_seq``; return how many messages that was.

        Raises:
            BusUnreachableError: no answer.
            BusRefusedError: there is no such stream.
        """
        done = await self.request(f"STREAM.PURGE.{stream}", {"seq": below_seq}, _Purged)
        return done.purged

    async def request(self, verb: str, body: Mapping[str, object], kind: type[_ANY]) -> _ANY:
        """Send one request of the JetStream API and decode its answer.

        Raises:
            BusUnreachableError: no answer.
            BusRefusedError: the server answered with an error.
        """
        makes = verb.startswith(("STREAM.CREATE.", "STREAM.UPDATE."))
        wait_s = self._making_s if makes else self._request_s
        answer = await self._request(f"$JS.API.{verb}", msgspec.json.encode(body), None, wait_s)
        return _decode(answer.data, kind)

    async def newest_message(self, stream: str, subject: str) -> Msg | None:
        """Return the newest message that a stream still holds on a subject, with its headers.

        Raises:
            BusUnreachableError: no answer.
        """
        return await self._get_message(stream, msgspec.json.encode({"last_by_subj": subject}))

    async def newest_on_subject(self, stream: str, subject: str) -> Msg | None:
        """Return a subject's newest message, for users with rights by subject; errors as above."""
        return await self._get_message(f"{stream}.{subject}", b"")

    async def message_at(self, stream: str, seq: int) -> Msg | None:
        """Return the message of a stream sequence; None: it is not held; errors as above."""
        return await self._get_message(stream, b'{"seq":%d}' % seq)

    async def _get_message(self, place: str, query: bytes) -> Msg | None:
        message = await self._request(f"$JS.API.DIRECT.GET.{place}", query, None)
        return None if (message.headers or {}).get("Status") else message

    async def publish(self, message: OutgoingMessage) -> PublishAck:
        """Store one message.

        Raises:
            BusUnreachableError: no answer: it may be stored or not.
            BusRefusedError: it is not stored.
        """
        answer = await self._request(message.subject, message.payload, dict(message.headers))
        return _decode(answer.data, PublishAck)

    async def publish_chain(self, messages: Sequence[OutgoingMessage]) -> PublishAck:
        """Store messages with one round trip, each only right behind the one before.

        Each has an id, and is stored on the condition that its predecessor's is the newest: so the
        answer to the last speaks for all, unless it is a duplicate: what was stored under its id
        before is not stored again, whatever its condition.
        Without an answer, or with a refusal, the first few of them may be stored.

        Raises:
            BusUnreachableError: no answer.
            BusRefusedError: the last is not stored.
        """
        assert 0 < len(messages) <= CHAIN_MESSAGES_MAX
        link = dict[str, str]()
        try:
            for message in messages[:-1]:
                headers = {**message.headers, **link}
                await self.client.publish(message.subject, message.payload, headers=headers)
                link = {EXPECTED_ID: message.headers[MESSAGE_ID]}
        except _CUT_OFF as error:
            raise BusUnreachableError(f"NATS does not take messages: {error!r}") from error
        end = messages[-1]
        return await self.publish(end._replace(headers={**end.headers, **link}))

    async def _request(
        self, subject: str, body: bytes, headers: dict[str, str] | None, wait_s: float = 0.0
    ) -> Msg:
        wait_s = wait_s or self._request_s
        wait = asyncio.timeout(wait_s)
        reply = self.client.request(subject, body, timeout=2 * wait_s, headers=headers)
        try:
            with preserve_cancellation():
                async with wait:
                    self._waits[wait] = None
                    return await reply
        except _CUT_OFF as error:
            raise BusUnreachableError(f"NATS does not answer {subject}: {error!r}") from error
        finally:
            self._waits.pop(wait, None)


def _decode(data: bytes, kind: type[_ANY]) -> _ANY:
    problem = msgspec.json.decode(data, type=_Answer).error
    if problem is not None and problem.err_code in PASSING_CODES:
        message = f"NATS cannot do it now: {problem.description} ({problem.err_code})"
        raise BusUnreachableError(message)
    if problem is not None:
        raise BusRefusedError(problem.err_code, problem.description)
    return msgspec.json.decode(data, type=kind)
