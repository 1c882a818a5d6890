"""Usage, waits and preemptions out of the events' raw JSON, by code that knows no other.

Nothing of the product is imported: rows of ``ledger_event`` are read as text, and added up with
plain numbers, as an accountant would who distrusts the reports.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

HOUR_US = 3_600_000_000
ENDS_A_WAIT = {
    "WorkloadAdmitted": "admitted",
    "WorkloadEvicted": "evicted",
    "WorkloadFinished": "finished",
    "WorkloadRemoved": "removed",
}
Raw = tuple[int, int, str]  # seq, at_us, payload


class Wait(NamedTuple):
    """A wait of a workload, from when to when."""

    workload: str
    from_us: int
    to_us: int | None
    outcome: str


class Holding(NamedTuple):
    """What a workload held of a resource, between two events; no second event: it is held still."""

    workload: str
    queue: str
    resource: str
    amount: float  # in base units
    from_seq: int
    to_seq: int | None


class Loss(NamedTuple):
    """What a preemption cost, of one resource, in base units and microseconds."""

    seq: int
    workload: str
    by: str
    reason: str
    resource: str
    ran_us: int
    planned: int
    freed: int | None  # None: it holds it still


@dataclass
class Charged:
    """A podset's share of a reservation."""

    queue: str
    resource: str
    each: int  # of one pod
    count: int  # pods that were given it
    pods: int  # that are charged now
    seq: int  # of the event that made it so
    at_us: int


@dataclass
class Books:
    """All that is added up."""

    usage: dict[tuple[int, str, str], int] = field(default_factory=lambda: defaultdict(int))
    holdings: list[Holding] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    now_us: int = 0
    _waiting: dict[str, int] = field(default_factory=dict)
    _charged: dict[str, dict[tuple[str, str], Charged]] = field(default_factory=dict)
    _admitted: dict[str, int] = field(default_factory=dict)
    _pods: dict[str, dict[str, int]] = field(default_factory=dict)
    _done: dict[str, dict[str, int]] = field(default_factory=dict)
    _leaving: dict[str, list[Loss]] = field(default_factory=lambda: defaultdict(list))

    def read(self, rows: Iterable[Raw]) -> Books:
        """Add up whole histories."""
        for seq, at_us, payload in rows:
            self.now_us = at_us
            event = json.loads(payload)
            kind = event["type"].partition("/")[0]
            if "workload" in event:
                self._read(kind, seq, at_us, event)
        for name in list(self._charged):
            self._let_go(name, None, self.now_us)
        self.waits += [Wait(name, from_us, None, "") for name, from_us in self._waiting.items()]
        self.losses += [loss for losses in self._leaving.values() for loss in losses]
        return self

    def _read(self, kind: str, seq: int, at_us: int, event: dict[str, Any]) -> None:
        name = event["workload"]
        self._wait_on(kind, name, at_us)
        match kind:
            case "WorkloadSubmitted":
                self._submit(name, event)
            case "QuotaReserved":
                self._reserve(name, seq, at_us, event)
            case "WorkloadAdmitted":
                self._admitted[name] = at_us
            case "PodsReclaimed":
                self._reclaim(name, seq, at_us, event["reclaimable"])
            case "WorkloadPreempted":
                self._preempt(name, seq, at_us, event)
            case "QuotaReleased" | "WorkloadFinished" | "WorkloadRemoved":
                self._let_go(name, seq, at_us)
            case _:
                pass  # no number depends on it

    def _wait_on(self, kind: str, name: str, at_us: int) -> None:
        if kind in ENDS_A_WAIT and name in self._waiting:
            self.waits.append(Wait(name, self._waiting.pop(name), at_us, ENDS_A_WAIT[kind]))
        if kind in {"WorkloadSubmitted", "WorkloadRequeued"}:
            self._waiting[name] = at_us

    def _submit(self, name: str, event: dict[str, Any]) -> None:
        self._pods[name] = {
            podset.get("name", "main"): podset.get("count", 1) for podset in event["podsets"]
        }
        self._done[name] = {}

    def _reserve(self, name: str, seq: int, at_us: int, event: dict[str, Any]) -> None:
        self._charged[name] = {
            (podset["name"], resource): Charged(
                event["cluster_queue"],
                resource,
                units // podset["count"],
                podset["count"],
                self._left(name, podset["name"], podset["count"]),
                seq,
                at_us,
            )
            for podset in event["assignment"]
            for resource, units in podset["usage"].items()
        }

    def _reclaim(self, name: str, seq: int, at_us: int, done: dict[str, int]) -> None:
        self._done[name] = done
        for (podset, _), part in self._charged.get(name, {}).items():
            left = self._left(name, podset, part.count)
            if left != part.pods:
                self._write(name, part, seq, at_us)
                part.pods, part.seq, part.at_us = left, seq, at_us

    def _left(self, name: str, podset: str, given: int) -> int:
        """Return of how many pods of those given the quota counts: of some the work is done."""
        return max(0, min(given, self._pods[name][podset] - self._done[name].get(podset, 0)))

    def _preempt(self, name: str, seq: int, at_us: int, event: dict[str, Any]) -> None:
        ran_us = at_us - self._admitted[name]
        for part in self._charged[name].values():
            planned = part.each * part.pods
            row = (seq, name, event["by"], event["reason"], part.resource, ran_us, planned, None)
            self._leaving[name].append(Loss(*row))

    def _let_go(self, name: str, seq: int | None, at_us: int) -> None:
        freed = defaultdict[str, int](int)
        for part in self._charged.pop(name, {}).values():
            self._write(name, part, seq, at_us)
            freed[part.resource] += part.each * part.pods
        if seq is not None:
            left = self._leaving.pop(name, [])
            self.losses += [loss._replace(freed=freed[loss.resource]) for loss in left]

    def _write(self, name: str, part: Charged, seq: int | None, at_us: int) -> None:
        amount = part.each * part.pods
        self.holdings.append(Holding(name, part.queue, part.resource, amount, part.seq, seq))
        hour_us = part.at_us - part.at_us % HOUR_US
        while hour_us < at_us:
            lasted_us = min(at_us, hour_us + HOUR_US) - max(part.at_us, hour_us)
            self.usage[hour_us, part.queue, part.resource] += amount * lasted_us
            hour_us += HOUR_US
