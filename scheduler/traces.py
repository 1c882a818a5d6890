"""The scheduler's part of a job's trace: from the observation that led to it to the decision.

A decision may follow long after what was last observed of its job, and because of another job; it
belongs to its own job's trace all the same.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from tidegate.contracts.codec import decode_observation, type_name
from tidegate.contracts.decisions import WorkloadDecision
from tidegate.contracts.entry import Entry, Message
from tidegate.contracts.facts import Event
from tidegate.contracts.messages.trace import publishing_events
from tidegate.contracts.observations import Observed
from tidegate.errors import UndecodableError
from tidegate.service.tracing import OFF, Span, Tracing

JOBS_MAX = 10_000
"""Jobs whose last observation is remembered; of others the trace goes on from its beginning."""


class Traces:
    """One scheduler's spans."""

    def __init__(self, tracing: Tracing = OFF) -> None:
        self._tracing = tracing
        self._contexts = dict[str, str]()  # job's uid to the context of what was heard of it last

    def heard(self, messages: Sequence[Message]) -> None:
        """Remember the trace context of each job's observation."""
        for message in messages if self._tracing.on else ():
            if message.trace:
                self._remember(message)

    @contextmanager
    def publishing(self, entries: Sequence[Entry], events: Sequence[Event]) -> Generator[None]:
        """Have each decision published with a span that ends with the block."""
        if not self._tracing.on:
            yield
            return
        spans = dict(self._begun(entries, events))
        token = publishing_events.set({seq: span.context for seq, span in spans.items()})
        try:
            yield
        finally:
            publishing_events.reset(token)
            for span in spans.values():
                span.end()

    def _begun(
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

    def _remember(self, message: Message) -> None:
        try:
            observation = decode_observation(message.payload)
        except UndecodableError:
            return  # it is refused in the ledger
        if isinstance(observation, Observed) and observation.uid:
            self._contexts.pop(observation.uid, None)
            self._contexts[observation.uid] = message.trace
            if len(self._contexts) > JOBS_MAX:
                del self._contexts[next(iter(self._contexts))]
