"""How many may pass in a second."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(slots=True)
class Pace:
    """Lets one pass every ``every_s`` seconds; who comes in a quiet time passes at once."""

    every_s: float
    next_s: float = 0.0

    async def turn(self) -> None:
        """Wait for one's turn."""
        now_s = asyncio.get_running_loop().time()
        at_s = max(self.next_s, now_s)
        self.next_s = at_s + self.every_s
        await asyncio.sleep(at_s - now_s)
