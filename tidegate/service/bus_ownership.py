"""A service refuses a bus that belongs to another cluster than the one whose API server it asks.

A process that begins while a server of NATS goes away asks until another answers: were it to end,
the one that it stands by for would have no successor until the pod is started again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tidegate.errors import (
    ApiStatusError,
    ApiUnreachableError,
    BusUnreachableError,
    OtherClusterError,
)
from tidegate.service.logs import get_log

RETRY_S = 1.0
PATIENCE_S = 60.0
"""So long a bus may be without an answer at a start: JetStream elects leaders in a few seconds."""
Answer = TypeVar("Answer")
_log = get_log("belonging")


async def refuse_other_cluster(
    ask: Callable[[], Awaitable[str]], claim: Callable[[str], Awaitable[str]]
) -> str:
    """Ask an API server for its cluster's uid, for as long as that takes, and claim the bus for it.

    Returns the uid.

    Raises:
        OtherClusterError: the bus belongs to another cluster.
        BusUnreachableError: it does not answer.
    """
    while True:
        try:
            uid = await ask()
            break
        except (ApiUnreachableError, ApiStatusError) as error:
            _log.warning("which cluster it is cannot be asked yet", why=str(error))
            await asyncio.sleep(RETRY_S)
    standing = await claim(uid)
    if standing != uid:
        raise OtherClusterError(standing, uid)
    return uid


async def retry_until_answered(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """Ask the bus, again and again for a minute, and return its answer.

    Raises:
        BusUnreachableError: it does not answer.
    """
    until_s = asyncio.get_running_loop().time() + PATIENCE_S
    while True:
        try:
            return await ask()
        except BusUnreachableError as error:
            if asyncio.get_running_loop().time() > until_s:
                raise
            _log.warning("the bus does not answer yet", why=str(error))
            await asyncio.sleep(RETRY_S)
