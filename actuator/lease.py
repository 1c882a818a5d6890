"""Whether this actuator is the active one of its shard; losing it costs work, never correctness."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tidegate.bus.ports import Lease
from tidegate.service.logs import get_log

RENEWALS = 4
"""Parts of a lease's life: one to renew it, and the last as a margin."""
_log = get_log("lease")


async def keep(lease: Lease, ttl_s: float, changed: Callable[[bool], None]) -> None:
    """Take the lease as soon as it is free and renew it; tell each change; release it at the end.

    A renewal that fails is tried again, but the lease counts as lost before it can run out: another
    may take it then.
    """
    loop, held_s = asyncio.get_running_loop(), -ttl_s
    ours = False
    try:
        while True:
            asked_s = loop.time()
            held_s = asked_s if await _hold(lease, ttl_s / RENEWALS) else held_s
            still = loop.time() - held_s < ttl_s * (RENEWALS - 1) / RENEWALS
            if still != ours:
                ours = still
                _log.info("active" if ours else "standing by")
                changed(ours)
            await asyncio.sleep(ttl_s / RENEWALS / 2)
    finally:
        if ours:
            changed(False)  # noqa: FBT003 - a plain setter
        await lease.release()


async def _hold(lease: Lease, patience_s: float) -> bool:
    try:
        async with asyncio.timeout(patience_s):
            return await lease.hold()
    except TimeoutError:
        return False
