"""Watching one resource for ever: how a watch is asked for, and when the next is opened."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from random import Random

WATCH_S = 120
"""How long a watch lasts, about; a server with many clients does not lose all at once. So long may
one that is half open go unnoticed, too."""
_LASTING_S = 5.0
"""A watch that lasted so long was one: the next is opened at once."""


async def follow(
    watch: Callable[[], Awaitable[None]], waits: Callable[[], Iterator[float]]
) -> None:
    """Call ``watch`` again whenever it ends, for ever; ``waits`` begins a new row of delays, s."""
    loop, delays = asyncio.get_running_loop(), waits()
    while True:
        since_s = loop.time()
        await watch()
        if loop.time() - since_s >= _LASTING_S:
            delays = waits()
        else:
            await asyncio.sleep(next(delays))


def watch_query(version: str, random: Random) -> dict[str, str]:
    """Return the query of a watch of changes after a version."""
    return {
        "resourceVersion": version,
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(round(WATCH_S * (0.75 + random.random() / 2))),
    }
