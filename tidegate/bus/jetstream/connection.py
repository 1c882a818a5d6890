"""The bus over NATS: one connection, and every port made from it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec
import nats.errors
from nats.aio.client import Client

from tidegate.bus.headers import MESSAGE_ID
from tidegate.bus.jetstream.bodies import NatsBodies
from tidegate.bus.jetstream.events import NatsEventFeed, NatsEventPublisher
from tidegate.bus.jetstream.keys import NatsLease, NatsRegister
from tidegate.bus.jetstream.observations import NatsObservationPublisher, NatsObservationReader
from tidegate.bus.jetstream.wire.client import QuickClient, split_login, tls_context
from tidegate.bus.jetstream.wire.requests import (
    FULL_CODES,
    JetStream,
    OutgoingMessage,
    retention_of,
)
from tidegate.bus.provenance import OnForged, ignore_forged
from tidegate.bus.retention import EventsRetention
from tidegate.bus.streams import (
    StreamOptions,
    bodies_config,
    config_differences,
    member_stream_configs,
    stream_configs,
    stream_names,
)
from tidegate.bus.witness import Witness, newest_witness
from tidegate.errors import BusRefusedError, BusUnreachableError
from tidegate.urls import redacted

PATIENCE_S = 30.0
CANCEL_AGAIN_S = 0.1
SETTLE_S = 0.5
"""nats-server says that a stream is gone before it has removed the files: one of the same name that
is created meanwhile would lose its own (``tidegate.bus.jetstream.stall``)."""
_REFUSALS = ("permissions violation", "authorization violation", "authentication")


class NatsBus:
    """A connection to NATS that makes the ports; it reconnects for as long as it is open."""

    def __init__(
        self, client: Client, cluster: str, patience_s: float = PATIENCE_S, partition: int = 0
    ) -> None:
        """``partition``: whose EVENTS are meant."""
        self._client, self._patience_s = client, patience_s
        self._names = stream_names(cluster, partition)
        self._js = JetStream(client)
        self._stream_options = StreamOptions()
        self._closers = list[NatsObservationReader | NatsObservationPublisher]()

    async def ensure_streams(self, streams: StreamOptions, members: Sequence[str] = ()) -> None:
        """Make the streams, or change those that are not as wanted; the scheduler does it.

        Those of member clusters are made as well: all but EVENTS, of which there is one. Where
        there are members, jobs may be placed: each cluster has BODIES. What is one a cluster is
        changed for partition 0 alone; another's scheduler makes it only where it lacks.

        Raises:
            BusUnreachableError: no answer.
            BusRefusedError: the rights lack, or a stream was made in a way that cannot be changed.
        """
        self._stream_options = streams
        await self._create_streams(stream_configs(self._names, streams))
        if members:
            await self._create_streams([bodies_config(self._names, streams)])
        for member in members:
            await self._create_streams(member_stream_configs(stream_names(member), streams))

    async def _create_streams(self, configs: list[dict[str, object]]) -> None:
        for config in configs:
            info = await self._js.stream_info(str(config["name"]))
            if info is None:
                await self._configure("CREATE", config)
            elif self._may_change(str(config["name"])) and config_differences(config, info.config):
                await self._configure("UPDATE", {**info.config, **config})

    async def _configure(self, verb: str, config: dict[str, object]) -> None:
        name = config["name"]
        try:
            await self._js.request(f"STREAM.{verb}.{name}", config, msgspec.Raw)
        except BusRefusedError as error:
            if error.code not in FULL_CODES:
                raise
            remedy = (
                f"{error.description}: the stream {name} is to hold {config['max_bytes']} B. Give "
                "nats-server a larger disk or max_file_store, or the scheduler a smaller "
                "--events-bytes or --observations-bytes"
            )
            raise BusRefusedError(error.code, remedy) from error

    def _may_change(self, stream: str) -> bool:
        """Return whether it is for this partition to say how a stream is to be."""
        return not self._names.partition or stream == self._names.events

    def observation_reader(self, member: str = "") -> NatsObservationReader:
        """Return the scheduler's side of OBSERVATIONS, of the own cluster or of a member."""
        names = stream_names(member) if member else self._names
        ensure = partial(self._recreate_streams, member)
        reader = NatsObservationReader(self._js, names, ensure)
        self._closers.append(reader)
        return reader

    def event_publisher(self) -> NatsEventPublisher:
        """Return the scheduler's side of EVENTS."""
        return NatsEventPublisher(self._js, self._names, self._recreate_streams)

    def observation_publisher(self) -> NatsObservationPublisher:
        """Return the side of OBSERVATIONS that ingest and the actuator write to."""
        publisher = NatsObservationPublisher(self._js, self._names, self._patience_s)
        self._closers.append(publisher)
        return publisher

    def event_feed(
        self,
        subject: str = "",
        forged: OnForged = ignore_forged,
        hub: str = "",
        partition: int | None = None,
    ) -> NatsEventFeed:
        """Return a feed of EVENTS; ``subject`` narrows it, e.g. to one type of event.

        ``hub``: the cluster whose EVENTS they are, if it is another one. ``partition``: whose they
        are; None: that which the bus was opened for.
        """
        names = stream_names(hub) if hub else self._names
        if partition is not None:
            names = stream_names(names.cluster, partition)
        return NatsEventFeed(self._js, names, self._patience_s, subject, forged)

    async def witness(self) -> Witness | None:
        """See ``tidegate.bus.witness.newest_witness``."""
        return await newest_witness(self._js, self._names)

    async def publish(self, subject: str, payload: bytes, message_id: str) -> int:
        """Publish a message on a subject; return its sequence in the stream that stores it.

        Raises:
            BusUnreachableError: no answer, or no stream takes the subject.
            BusRefusedError: it is not stored.
        """
        message = OutgoingMessage(subject, payload, {MESSAGE_ID: message_id})
        return (await self._js.publish(message)).seq

    async def events_retention(self) -> EventsRetention | None:
        """Return how far EVENTS reaches back; None: there is none, it is empty or unbounded.

        Raises:
            BusUnreachableError: no answer.
        """
        info = await self._js.stream_info(self._names.events)
        return None if info is None else retention_of(info)

    def register(self, *, makes: bool = False) -> NatsRegister:
        """Return the register of the streams' owner; one that ``makes`` them is the scheduler's."""
        ensure = self._recreate_streams if makes else None
        return NatsRegister(self._js, self._names, self._patience_s, ensure)

    def bodies(self) -> NatsBodies:
        """Return the bodies of jobs that may be placed: the own cluster's to keep, all to read."""
        return NatsBodies(self._js, self._names)

    def lease(self, name: str, holder: str, ttl_s: int = 10) -> NatsLease:
        """Return a lease that expires ``ttl_s`` seconds after it was last held."""
        return NatsLease(self._js, self._names, name, holder=holder, ttl_s=ttl_s)

    def fault(self) -> str:
        """Return why the bus cannot be used now; empty if it can."""
        if self._client.is_connected:
            return ""
        return f"not connected to NATS: {self._client.last_error or 'trying'}"

    async def notify_reconnected(self) -> None:
        """Have each reader begin anew from its position; the connection calls it."""
        await self._js.notify_reconnected()

    async def close(self) -> None:
        """Close every port, then the connection."""
        for part in self._closers:
            await part.close()
        await self._client.close()

    async def _recreate_streams(self, member: str = "") -> None:
        await asyncio.sleep(SETTLE_S)
        if member:
            await self._create_streams(
                member_stream_configs(stream_names(member), self._stream_options)
            )
        else:
            await self._create_streams(stream_configs(self._names, self._stream_options))


async def _run_within(patience_s: float, work: Coroutine[Any, Any, None]) -> None:
    """Await ``work``, and cancel it until it has ended.

    nats-py goes on connecting after a cancellation that comes while it closes a connection, as
    where a password is wrong: one cancellation alone may leave it at that for ever.

    Raises:
        TimeoutError: it took longer than ``patience_s`` seconds.
    """
    working = asyncio.ensure_future(work)
    try:
        await asyncio.wait({working}, timeout=patience_s)
        if not working.done():
            raise TimeoutError
        working.result()
    finally:
        while not working.done():
            working.cancel()
            await asyncio.wait({working}, timeout=CANCEL_AGAIN_S)


def _ignore_refusal(_text: str) -> None:
    """Ignore a refusal."""


@asynccontextmanager
async def open_bus(  # noqa: PLR0913 - each is a setting of its own
    url: str,
    *,
    cluster: str,
    name: str,
    credentials: str = "",
    ca: str = "",
    patience_s: float = PATIENCE_S,
    partition: int = 0,
    on_refused: Callable[[str], None] = _ignore_refusal,
) -> AsyncGenerator[NatsBus, None]:
    """Connect to NATS and yield the bus; close it at the end.

    Answers come under ``_INBOX_tidegate_<cluster>_<name>.``, so that a user may be kept from
    hearing others'.
    ``ca`` is the file of the authority that the servers' certificates are checked against.
    ``partition``: whose EVENTS are meant; all else is the cluster's.
    ``on_refused`` hears what NATS refuses to this connection, each text once.

    Raises:
        BusUnreachableError: no connection within ``patience_s`` seconds.
    """
    servers, login = split_login(url)
    client, logged = QuickClient(), set[str]()
    bus = NatsBus(client, cluster, patience_s, partition)

    async def log_refusal(error: Exception) -> None:
        """Log a refusal; every failure shows as ``last_error`` and in ``fault``."""
        text = str(error)
        if text not in logged and any(word in text.lower() for word in _REFUSALS):
            logged.add(text)
            on_refused(text)

    try:
        await _run_within(
            patience_s,
            client.connect(
                servers=servers,
                user=login.user,
                password=login.password,
                token=login.token,
                name=f"tidegate-{name}",
                user_credentials=credentials or None,
                tls=tls_context(ca),
                inbox_prefix=stream_names(cluster).inbox(name),
                max_reconnect_attempts=-1,
                reconnect_time_wait=1,
                ping_interval=10,
                max_outstanding_pings=2,
                error_cb=log_refusal,
                reconnected_cb=bus.notify_reconnected,
            ),
        )
    except (nats.errors.Error, OSError, TimeoutError) as error:
        await client.close()
        text = f"No connection to NATS at {redacted(url)}: {client.last_error or error!r}"
        raise BusUnreachableError(text) from error
    try:
        yield bus
    finally:
        await bus.close()
