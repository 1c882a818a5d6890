"""What is done a second time though nothing failed: repairs hide what is broken beneath them.

Asked while the world is calm for a while: whatever began before may still be mended then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.simulation.bus import EPOCH_US
from tests.simulation.judging.ledger_watch import WatchedLedger
from tests.simulation.judging.verdict import demand
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import OrderReissued
from tidegate.contracts.fact_kinds.reception import GapObserved, StreamReplaced

SETTLED_S = 20.0
"""How long after the last fault a lease, a lag and a backoff may still hold things up."""

REPAIR_US = 9_000_000
"""An order is given again after ten seconds; before that only if it was refused as outdated."""


class Needless:
    """Reads each entry once."""

    def __init__(self, ledger: Callable[[], WatchedLedger], touched_s: Mapping[str, float]) -> None:
        self._ledger, self._touched_s = ledger, touched_s
        self._read = 0
        self.lags = False  # some ingest lags: what it tells may have ended before it was known

    def tick(self, calm_since_s: float, *, calm: bool) -> None:
        """Object to what was repaired, or missed, since the last look, if all was calm."""
        entries = self._ledger().entries
        first, self._read = min(self._read, len(entries)), len(entries)
        for entry in entries[first:] if calm else ():
            event = decode(entry.payload)
            lost = isinstance(event, StreamReplaced) or self._is_gap(event)
            demand(not lost, "loss", f"at {entry.seq} something is missed in calm: {event}")
            if isinstance(event, OrderReissued):
                self._object(event, calm_since_s)

    def _is_gap(self, value: object) -> bool:
        """Tell whether something is missed; a list may make up for what came late."""
        if not isinstance(value, GapObserved):
            return False
        return value.found_seq != value.expected_seq or not self.lags

    def _object(self, decision: OrderReissued, calm_since_s: float) -> None:
        """Object to an order that was given again, unless a user changed the job meanwhile."""
        since_s = (decision.since_us - EPOCH_US) / 1_000_000
        if decision.at_us - decision.since_us < REPAIR_US:
            return  # the job had changed since the order, and the actuator said so
        touched_s = self._touched_s.get(decision.uid.partition("/")[0], 0.0)
        in_vain = since_s > calm_since_s + SETTLED_S and touched_s < since_s
        order = f"{decision.workload}: its {decision.order} of {since_s:.1f} s"
        demand(not in_vain, "repair", f"{order} was ordered again in calm")
