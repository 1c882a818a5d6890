"""A service refuses a bus that belongs to another cluster than the one whose API server it asks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tidegate.errors import ApiStatusError, ApiUnreachableError, OtherClusterError
from tidegate.service.logs import get_log

RETRY_S = 1.0
_log = get_log("belonging")


async def refuse_other_cluster(
    ask: Callable[[], Awaitable[str]], claim: Callable[[str], Awaitable[str]]
) -> None:
    """Ask an API server for its cluster's uid, for as long as that takes, and claim the bus for it.

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
