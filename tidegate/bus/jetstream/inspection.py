"""Inspect the streams read-only: missing streams, and the newest seq of EVENTS."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import NamedTuple

import nats.errors
from nats.aio.client import Client

from tidegate.bus.jetstream.wire.client import split_login, tls_context
from tidegate.bus.jetstream.wire.requests import JetStream, retention_of
from tidegate.bus.retention import EventsRetention
from tidegate.bus.streams import (
    StreamNames,
    StreamOptions,
    config_differences,
    stream_configs,
    stream_names,
)
from tidegate.bus.witness import Witness, newest_witness
from tidegate.errors import BusUnreachableError
from tidegate.urls import redacted

_OPTION_FIELDS = ("num_replicas", "max_bytes", "max_msgs", "max_age")
"""Fields of a stream that an installation may choose."""
_CLOSE_S = 1.0


class StreamInspection(NamedTuple):
    """The result of an inspection."""

    missing: tuple[str, ...]  # names of streams
    differing: tuple[str, ...]  # "EVENTS: discard is new, not old"
    witness: Witness | None  # the ledger's head by the newest event; None: there is none
    events_retention: EventsRetention | None = (
        None  # of EVENTS; None: it is missing or holds nothing
    )
    ahead_us: int = 0  # by how much NATS' clock is ahead of this machine's


async def inspect_streams(  # noqa: PLR0913 - each says how it is joined
    url: str,
    *,
    cluster: str,
    credentials: str = "",
    ca: str = "",
    patience_s: float = 5.0,
    partition: int = 0,
) -> StreamInspection:
    """Look at every stream of a cluster once; ``ca`` and ``partition`` as ``open_bus`` has them.

    Raises:
        BusUnreachableError: no connection, or no answer.
        BusRefusedError: the rights lack.
    """
    client, names, tls = Client(), stream_names(cluster, partition), tls_context(ca)
    servers, login = split_login(url)
    errors = list[Exception]()

    async def collect_error(error: Exception) -> None:
        errors.append(error)

    try:
        async with asyncio.timeout(patience_s):
            await client.connect(
                servers=servers,
                user=login.user,
                password=login.password,
                token=login.token,
                name="tidegate-doctor",
                user_credentials=credentials or None,
                inbox_prefix=names.inbox("client"),  # what the user `reader` may hear
                tls=tls,
                allow_reconnect=False,
                error_cb=collect_error,
            )
            return await _inspect(JetStream(client), names)
    except (nats.errors.Error, OSError, TimeoutError) as error:
        cause = errors[-1] if errors else error
        raise BusUnreachableError(f"No answer from NATS at {redacted(url)}: {cause!r}") from cause
    finally:
        # Where TLS was refused, closing waits for an end of the connection that does not come.
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await client.close()


async def _inspect(js: JetStream, names: StreamNames) -> StreamInspection:
    missing, differing, reach, ahead_us = list[str](), list[str](), None, 0
    for config in stream_configs(names, StreamOptions()):
        name = str(config["name"])
        info = await js.stream_info(name)
        if info is None:
            missing.append(name)
            continue
        if info.ts is not None:
            ahead_us = round(info.ts.timestamp() * 1_000_000) - time.time_ns() // 1_000
        if name == names.events and info.state.messages:
            reach = retention_of(info)
        fixed = {field: value for field, value in config.items() if field not in _OPTION_FIELDS}
        differing += [
            f"{name}: {difference}" for difference in config_differences(fixed, info.config)
        ]
    witness = None if names.events in missing else await newest_witness(js, names)
    return StreamInspection(tuple(missing), tuple(differing), witness, reach, ahead_us)
