"""Coroutines that run together or in turn, and tasks that are ended."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any


async def run_together(coroutines: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all of them at once; the first that fails cancels the others."""
    async with asyncio.TaskGroup() as tasks:
        for coroutine in coroutines:
            tasks.create_task(coroutine)


async def run_in_sequence(coroutines: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run one after the other."""
    for coroutine in coroutines:
        await coroutine


async def cancel_and_wait(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks, and wait until they have ended, however they do."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
