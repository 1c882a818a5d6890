"""After the last fault something moves at every moment, until nothing is left to be done.

Pods that run take their time, and so does who was told when it may go on; nothing else has any.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from apiserver.state import State
from tests.simulation.judging.differences import LATE_S, WORKLOADS
from tests.simulation.judging.verdict import demand

REST_S_MAX = 600.0
"""What ten Jobs of forty seconds may take one after the other, with each of them stopped once."""


class Rest:
    """Looks once a second, from the last fault on."""

    def __init__(
        self, state: State, running: Callable[[], object], now_us: Callable[[], int]
    ) -> None:
        self._state, self._running, self._now_us = state, running, now_us
        self._began_s = self._moved_s = 0.0
        self.longest_s = 0.0

    def begin(self, now_s: float) -> None:
        """Begin to look: nothing fails any more."""
        self._began_s = self._moved_s = now_s

    def tick(self, now_s: float, why: str, *, waits: bool) -> None:
        """Object if nobody does anything for too long; ``waits``: somebody waits for its time."""
        if waits or self._running() or any(map(self._waits, self._state.items(WORKLOADS))):
            self._moved_s = now_s
        self.longest_s = max(self.longest_s, now_s - self._moved_s)
        demand(now_s - self._moved_s <= LATE_S, "rest", f"nothing moves: {why}")
        demand(now_s - self._began_s <= REST_S_MAX, "rest", why)

    def _waits(self, one: dict[str, dict[str, dict[str, str]]]) -> bool:
        """Tell whether a Workload says of itself until when it waits, and that is not over."""
        at = one.get("status", {}).get("requeueState", {}).get("requeueAt", "")
        return bool(at) and datetime.fromisoformat(at).timestamp() * 1_000_000 > self._now_us()
