"""Whether this process is the active one of several; losing it costs work, never correctness."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from tidegate.service.holder import LeaseHolder
from tidegate.service.logs import get_log

RENEWALS = 4
"""Parts of a lease's life: one to renew it, and the last as a margin."""
_log = get_log("lease")


class Lease(Protocol):
    """What is needed of ``tidegate.bus.ports.Lease``, which this layer does not know."""

    async def try_acquire_or_renew(self) -> bool:
        """Acquire or renew the lease; return whether this process holds it now."""
        ...

    async def release(self) -> None:
        """Give it up, if it is ours."""


Kind = TypeVar("Kind", bound=Lease)


async def take_over_lease(lease_of: Callable[[str], Kind], holder: LeaseHolder) -> Kind:
    """Return the holder's lease; release the lease of its dead predecessor."""
    if holder.predecessor:
        dead = lease_of(holder.predecessor)
        if await dead.try_acquire_or_renew():
            await dead.release()
    return lease_of(holder.name)


async def maintain_lease(lease: Lease, ttl_s: float, changed: Callable[[bool], None]) -> None:
    """Take the lease as soon as it is free and renew it; report each change; release it at the end.

    A renewal that fails is tried again, but the lease counts as lost before it can run out: another
    may take it then.
    """
    loop, held_s = asyncio.get_running_loop(), -ttl_s
    holds = False
    try:
        while True:
            asked_s = loop.time()
            held_s = asked_s if await _try_hold(lease, ttl_s / RENEWALS) else held_s
            still = loop.time() - held_s < ttl_s * (RENEWALS - 1) / RENEWALS
            if still != holds:
                holds = still
                _log.info("active" if holds else "standing by")
                changed(holds)
            await asyncio.sleep(ttl_s / RENEWALS / 2)
    finally:
        if holds:
            changed(False)  # noqa: FBT003 - a plain setter
        await lease.release()


async def _try_hold(lease: Lease, patience_s: float) -> bool:
    try:
        async with asyncio.timeout(patience_s):
            return await lease.try_acquire_or_renew()
    except TimeoutError:
        return False
