"""What a scheduler says of itself: its role, how far it is, and how long turns take."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge

from tidegate.contracts.entry import Entry

if TYPE_CHECKING:
    from scheduler.desk import Desk

STUCK_S = 120.0
"""A leader that ends no turn for so long is ended from outside: the next start continues."""
Role = Literal["starting", "standby", "leading", "stopped"]


class Status:
    """The scheduler's own numbers, read by the health pages and written by its turns."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.role: Role = "starting"
        self.trouble = ""  # what keeps it from its work, one line
        self.desk: Desk | None = None
        self._turned_s = 0.0  # the loop's time of the last sign of life
        self._leading = _gauge(registry, "leading", "1 while this scheduler is the writer.")
        self._epoch = _gauge(registry, "epoch", "The term it writes in, or wrote in last.")
        self._seq = _gauge(registry, "ledger_seq", "The newest entry it wrote or read.")
        self._published = _gauge(registry, "published_seq", "The newest entry known in EVENTS.")
        self.observations = _counter(registry, "observations", "Observations read.")
        self.refusals = _counter(registry, "publish_refusals", "Batches that EVENTS refused.")
        self.resyncs = _counter(registry, "resyncs", "Requests to ingest to tell all again.")
        self.turns = _counter(registry, "turns", "Turns that wrote entries.")
        self._entries = Counter(
            "tidegate_scheduler_entries",
            "Entries written, by type.",
            ["type"],
            registry=registry,
        )

    def become(self, role: Role, trouble: str = "") -> None:
        """Note a new role and what stands in its way."""
        self.role, self.trouble = role, trouble
        self.turned()
        self._leading.set(role == "leading")
        if role != "leading":
            self.desk = None

    def turned(self) -> None:
        """Note that a turn ended, or began its wait for a next one."""
        self._turned_s = asyncio.get_running_loop().time()

    def stuck(self) -> str:
        """Tell that a leader hangs; empty if it does not."""
        silent_s = asyncio.get_running_loop().time() - self._turned_s
        hangs = self.role == "leading" and silent_s > STUCK_S
        return f"no turn ended for {silent_s:.0f} s" if hangs else ""

    def wrote(self, desk: Desk, entries: Sequence[Entry]) -> None:
        """Note a commit."""
        self.desk = desk
        self._epoch.set(desk.epoch)
        self._seq.set(desk.head.seq)
        self._published.set(desk.published)
        if entries:
            self.turns.inc()
        for entry in entries:
            self._entries.labels(entry.type).inc()

    def not_ready(self) -> str:
        """Tell why it can neither lead nor stand by; empty if it can."""
        if self.trouble:
            return self.trouble
        return "starting" if self.role == "starting" else ""


def _gauge(registry: CollectorRegistry, name: str, said: str) -> Gauge:
    return Gauge(f"tidegate_scheduler_{name}", said, registry=registry)


def _counter(registry: CollectorRegistry, name: str, said: str) -> Counter:
    return Counter(f"tidegate_scheduler_{name}", said, registry=registry)
