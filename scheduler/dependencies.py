"""The scheduler's injected dependencies, the same in every term: ports and settings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import msgspec

from scheduler.events_retention import Window
from scheduler.health import Status, Traces
from scheduler.poison import PoisonObservations
from tidegate.bus.ports import EventPublisher, Ledger, ObservationReader, Register
from tidegate.contracts.entry import Snapshot
from tidegate.model.policy import Policy
from tidegate.service.holder import LeaseHolder

Result = TypeVar("Result")


class RunSync(Protocol):
    """Runs what blocks without stopping the loop; the simulation runs it in place."""

    def __call__(self, work: Callable[[], Result], /) -> Awaitable[Result]:
        """Return the result of ``work``, or raise what it raises."""
        ...


def in_thread(work: Callable[[], Result]) -> Awaitable[Result]:
    """Run blocking work in a thread beside the loop."""
    return asyncio.to_thread(work)


class PublishHandover(Protocol):
    """Puts a message into OBSERVATIONS: subject, payload and an id that no other message has."""

    def __call__(self, subject: str, payload: bytes, message_id: str, /) -> Awaitable[int]:
        """Return its sequence, or raise BusUnreachableError or BusRefusedError."""
        ...


class Snapshots(Protocol):
    """Where states are kept so that a start need not fold everything. Synchronous."""

    def newest(self, version: int, until: int | None = None) -> Snapshot | None:
        """Return the newest snapshot of that form which fits the ledger."""
        ...

    def write(self, snapshot: Snapshot) -> None:
        """Keep a snapshot."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How much at once, and how long."""

    messages_max: int = 1_000  # observations in one turn
    wait_s: float = 1.0  # for an observation; also the longest that a position stays unwritten
    lease_s: float = 15.0  # a standby takes over after so long a silence
    retry_s: float = 0.2  # after a failure of bus or database; doubles up to retry_s_max
    retry_s_max: float = 5.0
    look_s: float = 10.0  # before looking again whether EVENTS holds what was published
    lost_tail_s: float = 30.0  # before looking again whether a lost tail was recovered
    snapshot_entries: int = 10_000  # between two snapshots, at least: readers begin at the newest
    forget_messages: int = 2_000  # accepted observations before the bus may drop them
    forget_bytes: int = 8 * 1024 * 1024  # the same in bytes: a stream may be full of large ones
    rest_s: float = 0.0  # after a turn that read several observations: the next reads more


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The ports, what was configured, and what must not be made up here: names and chance."""

    observation_reader: ObservationReader
    event_publisher: EventPublisher
    ledger: Ledger
    run_sync: RunSync
    status: Status
    cluster: str
    holder: LeaseHolder  # our identity among schedulers
    new_ledger_id: Callable[[], str]
    policy: Policy
    pace: Pace
    software: str = "tidegate"  # with its version, for the record
    snapshots: Snapshots | None = None
    window: Window = field(default_factory=Window)
    register: Register | None = None  # None: the bus's owner is not checked
    poison: PoisonObservations = field(default_factory=PoisonObservations)
    traces: Traces = field(default_factory=Traces)
    partition: int = 0  # whose ledger it is
    publish_handover: PublishHandover | None = None  # publishes trees that move to other partitions
    members: Mapping[str, ObservationReader] = field(default_factory=dict)
    """OBSERVATIONS of each member cluster."""
