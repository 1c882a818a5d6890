"""One actuator's run: it reads EVENTS; while it holds the lease it carries out orders and projects.

It needs no process of its own: the simulation runs it on a virtual event loop.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from actuator.ordering.consume import Consumer
from tidegate.bus.ports import Lease
from tidegate.service.lease import keep


@dataclass(frozen=True, slots=True)
class Session:
    """What one actuator consists of."""

    consumer: Consumer
    lease: Lease
    lease_s: float
    workers: int

    async def run(self) -> None:
        """Work until cancelled; the lease is released at the end."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(keep(self.lease, self.lease_s, self.consumer.activate))
            tasks.create_task(self.consumer.read())
            tasks.create_task(self.consumer.subscriber.run())
            for _ in range(self.workers):
                tasks.create_task(self.consumer.work())
