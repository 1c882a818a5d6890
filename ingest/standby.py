"""Leader election of ingest: one process publishes, the others wait for its lease.

A process that gets the lease lists everything: unchanged objects add no facts. Two that publish for
a moment do no harm, since the scheduler distinguishes sessions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from ingest.session import Session
from tidegate.bus.ports import Lease
from tidegate.service.lease import keep


class Standby:
    """Runs one session after another, each for as long as the lease is held."""

    def __init__(self, lease: Lease, lease_s: float, begin: Callable[[int], Session]) -> None:
        """``begin`` makes a session by its number: 1, 2, …; each needs a name of its own."""
        self._lease, self._lease_s, self._begin = lease, lease_s, begin
        self._ours, self._lost = asyncio.Event(), asyncio.Event()
        self._session: Session | None = None
        self._runs = False

    def waits_for(self) -> str:
        """Return what the session waits for; empty also while another process publishes."""
        if not self._runs:
            return "the cluster's identity is not known yet"
        return self._session.waits_for() if self._session else ""

    async def run(self) -> None:
        """Publish while holding the lease, until cancelled; it is released at the end."""
        self._runs = True
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(keep(self._lease, self._lease_s, self._change))
            tasks.create_task(self._tell())

    def _change(self, active: bool) -> None:  # noqa: FBT001 - as ``keep`` calls it
        came, went = (self._ours, self._lost) if active else (self._lost, self._ours)
        came.set()
        went.clear()

    async def _tell(self) -> None:
        number = 0
        while True:
            await self._ours.wait()
            number += 1
            self._session = self._begin(number)
            await _until(self._lost, self._session)
            self._session = None


async def _until(lost: asyncio.Event, session: Session) -> None:
    """Run a session until the lease is lost; what it raises before is raised here."""
    running, losing = asyncio.ensure_future(session.run()), asyncio.ensure_future(lost.wait())
    try:
        await asyncio.wait({running, losing}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
    finally:
        for task in (running, losing):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
