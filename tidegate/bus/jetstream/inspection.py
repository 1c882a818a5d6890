"""Inspect the streams read-only: missing streams, and the newest seq of EVENTS."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import NamedTuple

import nats.errors
from nats.aio.client import Client

from tidegate.bus.jetstream.wire.client import parted, trusted
from tidegate.bus.jetstream.wire.requests import JetStream, reach_of
from tidegate.bus.reach import Reach
from tidegate.bus.streams import Names, Streams, differences, names_of, wanted
from tidegate.bus.witness import Witness, newest_witness
from tidegate.errors import BusUnreachableError
from tidegate.urls import shown

_CHOSEN = ("num_replicas", "max_bytes", "max_msgs", "max_age")
"""Fields of a stream that an installation may choose."""
_CLOSE_S = 1.0


class Looked(NamedTuple):
    """The result of an inspection."""

    missing: tuple[str, ...]  # names of streams
    differing: tuple[str, ...]  # "EVENTS: discard is new, not old"
    witness: Witness | None  # the ledger's head by the newest event; None: there is none
    reach: Reach | None = None  # of EVENTS; None: it is missing or holds nothing


async def look(  # noqa: PLR0913 - each says how it is joined
    url: str,
    *,
    cluster: str,
    credentials: str = "",
    ca: str = "",
    patience_s: float = 5.0,
    partition: int = 0,
) -> Looked:
    """Look at every stream of a cluster once; ``ca`` and ``partition`` as ``open_bus`` has them.

    Raises:
        BusUnreachableError: no connection, or no answer.
        BusRefusedError: the rights lack.
    """
    client, names, tls = Client(), names_of(cluster, partition), trusted(ca)
    servers, login = parted(url)
    errors = list[Exception]()

    async def note(error: Exception) -> None:
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
                error_cb=note,
            )
            return await _look(JetStream(client), names)
    except (nats.errors.Error, OSError, TimeoutError) as error:
        cause = errors[-1] if errors else error
        raise BusUnreachableError(f"No answer from NATS at {shown(url)}: {cause!r}") from cause
    finally:
        # Where TLS was refused, closing waits for an end of the connection that does not come.
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await client.close()


async def _look(js: JetStream, names: Names) -> Looked:
    missing, differing, reach = list[str](), list[str](), None
    for config in wanted(names, Streams()):
        name = str(config["name"])
        info = await js.info(name)
        if info is None:
            missing.append(name)
            continue
        if name == names.events and info.state.messages:
            reach = reach_of(info)
        fixed = {field: value for field, value in config.items() if field not in _CHOSEN}
        differing += [f"{name}: {difference}" for difference in differences(fixed, info.config)]
    witness = None if names.events in missing else await newest_witness(js, names)
    return Looked(tuple(missing), tuple(differing), witness, reach)
