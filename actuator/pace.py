"""Rate limits: requests per second, and pauses between two of one object."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import msgspec

GIVES_WAY_S = 1.0
"""How long a write is held back while jobs are to be moved."""
RESTS = 3.0
"""The pause after a write, as a multiple of its duration: a slow API server is left to others."""
REST_S_MAX = 5.0


class GivesWay(Protocol):
    """Waits while jobs are to be moved."""

    def __call__(self, *, urgent: bool) -> Awaitable[None] | None:
        """Return what to await before a write may pass; None: it may pass at once.

        Some ``urgent`` writes pass while jobs are to be moved.
        """


def no_priority(*, urgent: bool) -> None:
    """See ``GivesWay``: no other writes have priority, so return at once."""
    del urgent


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """How fast statuses may be written."""

    writes_per_s: float = 50.0  # without urgency
    workers: int = 4  # for these
    urgent: int = 4  # workers for urgent writes; more of them delay starts


@dataclass(slots=True)
class Pace:
    """Lets one request pass every ``every_s`` seconds; after a pause at once."""

    every_s: float
    next_s: float = 0.0

    async def turn(self) -> None:
        """Wait until the rate allows the next request."""
        now_s = asyncio.get_running_loop().time()
        at_s = max(self.next_s, now_s)
        self.next_s = at_s + self.every_s
        if at_s > now_s:
            await asyncio.sleep(at_s - now_s)

    async def turn_behind(self, others: GivesWay, *, urgent: bool) -> None:
        """Wait for writes of higher priority, within a limit, and then for the rate."""
        waiting = others(urgent=urgent)
        if waiting is not None:  # a clock costs as much as the rest
            with suppress(TimeoutError):
                async with asyncio.timeout(GIVES_WAY_S):
                    await waiting
        await self.turn()

    async def rest(self, took_s: float) -> None:
        """Pause for ``RESTS`` times ``took_s``, at most ``REST_S_MAX`` seconds."""
        await asyncio.sleep(min(RESTS * took_s, REST_S_MAX))
