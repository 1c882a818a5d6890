"""Coroutines that run together or in turn, and tasks that are ended."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any


async def together(coroutines: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all of them at once; the first that fails cancels the others."""
    async with asyncio.TaskGroup() as tasks:
        for coroutine in coroutines:
            tasks.create_task(coroutine)


async def in_turn(coroutines: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run one after the other."""
    for coroutine in coroutines:
        await coroutine


async def cancelled(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks, and wait until they have ended, however they do."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
