"""Work that goes on until the service is asked to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from tidegate.service.running import Service


async def until_stopped(
    service: Service,
    work: Coroutine[Any, Any, None],
    drain: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Run ``work``; cancel it when the service is asked to stop, after ``drain`` if there is one.

    What ``work`` raises before that is raised here.
    """
    working = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(service.stopping.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        elif drain is not None:
            await drain()
    finally:
        for task in (working, stopping):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
