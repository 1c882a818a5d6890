"""The controller as a part of the actuator: it attends while the actuator holds its lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from actuator.calls import Calls
from actuator.provisioning.reconciler import Reconciler
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.entry import Published
from tidegate.contracts.facts import FactEvent
from tidegate.model.gates import Gate

CLEANS_GATE: Gate = "CleanupProvisioningRequestsOnEviction"
"""Kueue's feature gate; on by default."""


class Provisioner:
    """See ``actuator.events.Subscriber``: of the ledger it learns nothing but whether to work.

    It goes by Workloads and reports through them, as a controller from elsewhere would: what it
    says comes to the ledger as an observation.
    """

    def __init__(
        self, calls: Calls, random: Random, now_us: Callable[[], int], *, cleans: bool = True
    ) -> None:
        self._working = False
        self._turned = asyncio.Event()
        self._calls = calls.gated_by(lambda: self._working)
        self._random, self._now_us, self._cleans = random, now_us, cleans

    def on_event(self, message: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """Take no notice."""

    def on_orders_done(self, workload: str) -> None:
        """Take no notice."""

    def reset(self) -> None:
        """Have nothing to forget."""

    def set_active(self, working: bool) -> None:  # noqa: FBT001 - see the protocol
        """See ``Subscriber.set_active``."""
        self._working = working
        self._turned.set()

    async def run(self) -> None:
        """Reconcile for ever, while the lease is held."""
        while True:
            await self._wait_until(working=True)
            attendance = Reconciler(self._calls, self._random, self._now_us, cleans=self._cleans)
            await _run_until_first_ends(attendance.run(), self._wait_until(working=False))

    async def _wait_until(self, *, working: bool) -> None:
        while self._working != working:
            self._turned.clear()
            await self._turned.wait()


async def _run_until_first_ends(*works: Coroutine[Any, Any, None]) -> None:
    """Run until one comes to its end, and end the others; raise what it raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
