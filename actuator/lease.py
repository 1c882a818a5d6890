"""Whether this actuator is the active one of its shard; losing it costs work, never correctness."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tidegate.bus.ports import Lease
from tidegate.service.logs import get_log

RENEWALS = 3
"""How often a lease is renewed in the time that it lasts."""
_log = get_log("lease")


async def keep(lease: Lease, ttl_s: float, changed: Callable[[bool], None]) -> None:
    """Take the lease as soon as it is free and renew it; tell each change; release it at the end.

    ``changed`` is told before the lease could have run out elsewhere: one renewal that fails ends
    it here.
    """
    ours = False
    try:
        while True:
            held = await _hold(lease, ttl_s / RENEWALS)
            if held != ours:
                ours = held
                _log.info("active" if ours else "standing by")
                changed(ours)
            await asyncio.sleep(ttl_s / RENEWALS)
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
