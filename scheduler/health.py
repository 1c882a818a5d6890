"""The scheduler's health, metrics and traces: its role and position, turns, and spans of jobs.

A decision may follow long after what was last observed of its job, and because of another job; it
belongs to its own job's trace all the same.
"""

from __future__ import annotations

import asyncio
from collections import Counter as Counts
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from logging import DEBUG
from typing import TYPE_CHECKING, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from scheduler.metrics.exposed import ALL
from scheduler.metrics.meter import Meter
from tidegate.contracts.codec import decode_observation, type_name
from tidegate.contracts.decisions import WorkloadDecision
from tidegate.contracts.entry import Entry, Message, Position
from tidegate.contracts.facts import Event
from tidegate.contracts.observations import Observed
from tidegate.contracts.subjects import publishing_events
from tidegate.errors import UndecodableError
from tidegate.service.config.local_queue_metrics import LocalQueueMetrics
from tidegate.service.logs import get_log
from tidegate.service.tracing import OFF, Span, Tracing

_log = get_log("decisions")
STUCK_S = 120.0
"""A leader that ends no turn for so long is ended from outside: the next start continues."""
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
Stage = Literal["decide", "commit", "publish"]
Role = Literal["starting", "standby", "leading", "stopped"]
JOBS_MAX = 10_000
"""Jobs whose last observation is remembered; of others the trace goes on from its beginning."""

if TYPE_CHECKING:
    from scheduler.leader_state import LeaderState


class Status:
    """The scheduler's own numbers, read by the health pages and written by its turns."""

    def __init__(self, registry: CollectorRegistry, local_queues: LocalQueueMetrics = ALL) -> None:
        self.meter = Meter(registry, local_queues)
        self.role: Role = "starting"
        self.trouble = ""  # what keeps it from its work, one line
        self.deaf = ""  # why nothing of what was read counts, one line
        self.leader: LeaderState | None = None
        self._turned_s = 0.0  # the loop's time of the last sign of life
        self.ended = 0  # how often there was one
        self._leading = _gauge(registry, "leading", "1 while this scheduler is the writer.")
        self._epoch = _gauge(registry, "epoch", "The term it writes in, or wrote in last.")
        self._seq = _gauge(registry, "ledger_seq", "The newest entry it wrote or read.")
        self._published = _gauge(registry, "published_seq", "The newest entry known in EVENTS.")
        self.observations = _counter(registry, "observations", "Observations read.")
        self.refusals = _counter(registry, "publish_refusals", "Batches that EVENTS refused.")
        self.forged = _counter(registry, "forged_events", "Messages in EVENTS of another's making.")
        self.resyncs = _counter(registry, "resyncs", "Requests to ingest for a full resync.")
        self.turns = _counter(registry, "turns", "Turns that wrote entries.")
        self.heard_us = 0  # the bus's time of the newest observation read; 0: none in this term
        self._lag = _gauge(registry, "lag_seconds", "Age of the newest observation read.")
        stages = Histogram(
            "tidegate_scheduler_stage_seconds",
            "How long each stage of a turn that wrote entries took.",
            ["stage"],
            buckets=SECONDS,
            registry=registry,
        )
        self._stage = cache(stages.labels)  # to look a series up takes longer than to count
        self._turn = Histogram(
            "tidegate_scheduler_turn_seconds",
            "From reading observations to their entries being published.",
            buckets=SECONDS,
            registry=registry,
        )
        entries = Counter(
            "tidegate_scheduler_entries",
            "Entries written, by type.",
            ["type"],
            registry=registry,
        )
        self._entries_of = cache(entries.labels)

    def set_role(self, role: Role, trouble: str = "") -> None:
        """Note a new role, and the trouble that keeps the scheduler from leading."""
        self.role, self.trouble, self.deaf = role, trouble, ""
        self.record_turn_end()
        self._leading.set(role == "leading")
        if role != "leading":
            self.leader, self.heard_us = None, 0

    def track_lag(self, clock: Callable[[], float]) -> None:
        """Set the age of the last read observation by a UTC clock; decisions never see it."""
        self._lag.set_function(
            lambda: max(0.0, clock() - self.heard_us / 1_000_000) if self.heard_us else 0.0
        )

    def record_read(self, read: int, position: Position, *, moved: bool) -> None:
        """Note how many observations a turn read, and whether any of them counted."""
        self.observations.inc(read)
        if moved:
            self.deaf = ""
        elif read:
            self.deaf = (
                f"the stream gave {read} observations and none follows position {position.seq} of "
                f"the stream created at {position.incarnation}: nothing that happens is seen"
            )

    def record_stage(self, stage: Stage, seconds: float) -> None:
        """Note how long a stage of a turn took."""
        self._stage(stage).observe(seconds)

    def record_turn_end(self) -> None:
        """Note that a turn ended, or began its wait for a next one."""
        self._turned_s = asyncio.get_running_loop().time()
        self.ended += 1

    def stuck_reason(self) -> str:
        """Return that a leader hangs; empty if it does not."""
        silent_s = asyncio.get_running_loop().time() - self._turned_s
        hangs = self.role == "leading" and silent_s > STUCK_S
        return f"no turn ended for {silent_s:.0f} s" if hangs else ""

    def record_commit(
        self, leader: LeaderState, entries: Sequence[Entry], events: Sequence[Event]
    ) -> None:
        """Note a commit: its entries, and the same as events."""
        self.leader = leader
        self._epoch.set(leader.epoch)
        self._seq.set(leader.head.seq)
        self._published.set(leader.published)
        if entries:
            self.turns.inc()
        for kind, count in Counts(entry.type for entry in entries).items():
            self._entries_of(kind).inc(count)
        self.meter.count_events(events, leader.state)
        log_decisions(entries, events)

    def record_published(self, leader: LeaderState, turn_seconds: float) -> None:
        """Note that EVENTS holds what a turn wrote."""
        self._published.set(leader.published)
        self._turn.observe(turn_seconds)

    def not_ready_reason(self) -> str:
        """Return why it can neither lead nor stand by; empty if it can."""
        if self.trouble or self.deaf:
            return self.trouble or self.deaf
        return "starting" if self.role == "starting" else ""


def log_decisions(entries: Sequence[Entry], events: Sequence[Event]) -> None:
    """Log each decision about a workload, with its place in the ledger: at debug, they are many."""
    if not _log.is_enabled_for(DEBUG):
        return
    for entry, event in zip(entries, events, strict=True):
        if isinstance(event, WorkloadDecision):
            _log.debug(
                entry.type,
                workload=event.workload,
                seq=entry.seq,
                turn=entry.turn,
                cluster_queue=event.cluster_queue,
            )


def _gauge(registry: CollectorRegistry, name: str, description: str) -> Gauge:
    return Gauge(f"tidegate_scheduler_{name}", description, registry=registry)


def _counter(registry: CollectorRegistry, name: str, description: str) -> Counter:
    return Counter(f"tidegate_scheduler_{name}", description, registry=registry)


class Traces:
    """One scheduler's spans."""

    def __init__(self, tracing: Tracing = OFF) -> None:
        self._tracing = tracing
        self._contexts = dict[str, str]()  # job's uid to the context of what was heard of it last

    def remember_contexts(self, messages: Sequence[Message]) -> None:
        """Remember the trace context of each job's observation."""
        for message in messages if self._tracing.on else ():
            if message.trace:
                self._remember_context(message)

    @contextmanager
    def publish_spans(self, entries: Sequence[Entry], events: Sequence[Event]) -> Generator[None]:
        """Have each decision published with a span that ends with the block."""
        if not self._tracing.on:
            yield
            return
        spans = dict(self._begin_spans(entries, events))
        token = publishing_events.set({seq: span.context for seq, span in spans.items()})
        try:
            yield
        finally:
            publishing_events.reset(token)
            for span in spans.values():
                span.end()

    def _begin_spans(
        self, entries: Sequence[Entry], events: Sequence[Event]
    ) -> Generator[tuple[int, Span]]:
        for entry, event in zip(entries, events, strict=True):
            if isinstance(event, WorkloadDecision) and event.uid:
                about: dict[str, str | int] = {
                    "tidegate.workload": event.workload,
                    "tidegate.seq": entry.seq,
                    "tidegate.turn": entry.turn,
                    "tidegate.cluster_queue": event.cluster_queue,
                }
                name, parent = f"decide {type_name(event)}", self._contexts.get(event.uid, "")
                yield entry.seq, self._tracing.begin(name, event.uid, parent, about)

    def _remember_context(self, message: Message) -> None:
        try:
            observation = decode_observation(message.payload)
        except UndecodableError:
            return  # it is refused in the ledger
        if isinstance(observation, Observed) and observation.uid:
            self._contexts.pop(observation.uid, None)
            self._contexts[observation.uid] = message.trace
            if len(self._contexts) > JOBS_MAX:
                del self._contexts[next(iter(self._contexts))]
