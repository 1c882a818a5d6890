"""What each event means to a receiver's rules: notices at once, and notices that come with time.

Pure: the caller gives the events in the ledger's order, and the time. A workload waits from its
submission or requeueing to its admission, as in the report ``waits``.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

import msgspec

from tidegate.contracts import decisions, facts
from tidegate.contracts.decision_kinds.queues import BudgetReached
from tidegate.notify.configuration import Rule, When
from tidegate.replay.story.budgets import budget_text
from tidegate.replay.story.sentences import StoryEvent, sentence
from tidegate.service.config.durations import duration_us
from tidegate.subscribe import LedgerEvent

WAITING, BUDGET = "WaitingLong", "BudgetReached"
TEXT = 1_000
_OVER_MAX = 1_000
"""Limits of waits that are over: so many are kept, beside as many as of those that go on."""

_WHEN: dict[type, When] = {
    decisions.WorkloadAdmitted: When.ADMITTED,
    decisions.WorkloadPreempted: When.PREEMPTED,
    decisions.WorkloadEvicted: When.EVICTED,
    decisions.WorkloadDeactivated: When.DEACTIVATED,
    facts.WorkloadFinished: When.FINISHED,
}
_BEGIN = (facts.WorkloadSubmitted, decisions.WorkloadRequeued)
_END = (
    facts.WorkloadAdopted,
    facts.WorkloadFinished,
    facts.WorkloadRemoved,
    decisions.WorkloadAdmitted,
    decisions.WorkloadEvicted,
    decisions.WorkloadDeactivated,
)


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """One notification; ``key`` stays the same however often it is sent."""

    key: str
    type: str  # Admitted, …, WaitingLong
    workload: str  # "<namespace>/<name>"; empty: of a budget
    cluster_queue: str  # empty where the event has none
    seq: int  # of the event; of a wait: of its beginning
    at_us: int  # UTC microseconds: of the event, or when the wait had become too long
    text: str


class Wait(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A workload that waits, and which limits it has passed."""

    seq: int  # of the event that it waits since
    since_us: int
    key: str
    cluster_queue: str = ""
    noticed: frozenset[str] = frozenset()  # limits, as the rules say them


class Rules:
    """The rules of one receiver, and the workloads that wait and may have to be noticed."""

    def __init__(self, rules: tuple[Rule, ...], waiting: dict[str, Wait] | None = None) -> None:
        self._rules = rules
        self._limits = [
            (rule, duration_us(rule.waiting_longer_than, "waitingLongerThan"))
            for rule in rules
            if rule.waiting_longer_than
        ]
        self.waiting = {} if waiting is None else waiting
        self._changed = set[str]()  # workloads whose waits changed since that was last taken
        self._ahead = list[tuple[int, str, str, int]]()  # a heap of limits, see ``_limits_of``
        self._collect_limits()

    def record_event(self, received: LedgerEvent) -> Iterator[Notice]:
        """Record the waits in an event, and yield its notice if a rule selects it."""
        if isinstance(received.event, BudgetReached) and self._matches_budget(received.event):
            yield _budget_notice(received, received.event)
        workload = getattr(received.event, "workload", "")
        if not workload:
            return
        self._track_wait(received, workload)
        when = _WHEN.get(type(received.event))
        queue = getattr(received.event, "cluster_queue", "")
        if when is not None and any(
            when in r.when and _matches(r, workload, queue) for r in self._rules
        ):
            yield _event_notice(received, when, workload, queue)

    def due_notices(self, now_us: int) -> Iterator[Notice]:
        """Yield a notice for each wait that has become too long, once a limit."""
        while (at_us := self.next_us()) is not None and at_us <= now_us:
            _, workload, limit, _ = heappop(self._ahead)
            wait = self.waiting[workload]
            wait.noticed |= {limit}
            self._changed.add(workload)
            yield _wait_notice(workload, wait, limit, at_us)

    def take_changes(self) -> dict[str, Wait | None]:
        """Return the waits that changed since the last call, by workload; None: it is over."""
        changed, self._changed = self._changed, set()
        return {workload: self.waiting.get(workload) for workload in changed}

    def next_us(self) -> int | None:
        """Return when ``due`` has something, UTC microseconds; None: not before an event."""
        while self._ahead and self._ahead[0] not in self._limits_of(self._ahead[0][1]):
            heappop(self._ahead)  # that wait is over, noticed, or in a queue of no rule
        return self._ahead[0][0] if self._ahead else None

    def _limits_of(self, workload: str) -> list[tuple[int, str, str, int]]:
        """Return what a wait has ahead: when it is too long, its workload, the limit, its seq."""
        wait = self.waiting.get(workload)
        if wait is None:
            return []
        return [
            (wait.since_us + limit_us, workload, rule.waiting_longer_than, wait.seq)
            for rule, limit_us in self._limits
            if rule.waiting_longer_than not in wait.noticed
            and _matches(rule, workload, wait.cluster_queue)
        ]

    def _add_limits(self, workload: str) -> None:
        """Add what a wait has ahead; gather all again where most of the waits are over."""
        for limit in self._limits_of(workload):
            heappush(self._ahead, limit)
        if len(self._ahead) > _OVER_MAX + 2 * len(self.waiting) * len(self._limits):
            self._collect_limits()

    def _collect_limits(self) -> None:
        self._ahead = [limit for workload in self.waiting for limit in self._limits_of(workload)]
        heapify(self._ahead)

    def _matches_budget(self, event: BudgetReached) -> bool:
        return any(
            event.percent in rule.budget_at
            and (not rule.cluster_queues or event.cluster_queue in rule.cluster_queues)
            for rule in self._rules
        )

    def _track_wait(self, received: LedgerEvent, workload: str) -> None:
        event = received.event
        if isinstance(event, _END):
            if self.waiting.pop(workload, None) is not None:
                self._changed.add(workload)
        elif isinstance(event, _BEGIN) and self._is_limited(workload):
            queue = getattr(event, "cluster_queue", "")
            self.waiting[workload] = Wait(
                seq=received.seq,
                since_us=event.at_us,
                key=_event_key(received),
                cluster_queue=queue,
            )
            self._changed.add(workload)
            self._add_limits(workload)
        elif isinstance(event, decisions.WorkloadPending) and (
            (wait := self.waiting.get(workload)) and wait.cluster_queue != event.cluster_queue
        ):
            wait.cluster_queue = event.cluster_queue
            self._changed.add(workload)
            self._add_limits(workload)

    def _is_limited(self, workload: str) -> bool:
        return any(_matches_namespace(rule, workload) for rule, _ in self._limits)


def _wait_notice(workload: str, wait: Wait, limit: str, at_us: int) -> Notice:
    return Notice(
        key=f"{wait.key}/waiting/{limit}",
        type=WAITING,
        workload=workload,
        cluster_queue=wait.cluster_queue,
        seq=wait.seq,
        at_us=at_us,
        text=f"{workload} has waited for {limit}.",
    )


def _event_notice(received: LedgerEvent, when: When, workload: str, queue: str) -> Notice:
    assert isinstance(received.event, StoryEvent)
    text = sentence(received.event, workload)
    return Notice(
        key=_event_key(received),
        type=when.value,
        workload=workload,
        cluster_queue=queue,
        seq=received.seq,
        at_us=received.event.at_us,
        text=f"{workload}: {text}"[:TEXT],
    )


def _budget_notice(received: LedgerEvent, event: BudgetReached) -> Notice:
    return Notice(
        key=_event_key(received),
        type=BUDGET,
        workload="",
        cluster_queue=event.cluster_queue,
        seq=received.seq,
        at_us=event.at_us,
        text=budget_text(event),
    )


def _event_key(received: LedgerEvent) -> str:
    """Name an event: by its place, and by its hash, which two ledgers do not share."""
    return f"{received.entry.cluster}/{received.seq}/{received.entry.hash[:8].hex()}"


def _matches(rule: Rule, workload: str, queue: str) -> bool:
    in_queue = not rule.cluster_queues or queue in rule.cluster_queues
    return in_queue and _matches_namespace(rule, workload)


def _matches_namespace(rule: Rule, workload: str) -> bool:
    return not rule.namespaces or workload.partition("/")[0] in rule.namespaces
