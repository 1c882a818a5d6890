"""Trials: folds facts into a copy of the state, and lets the real core decide on it.

Cohort trees do not affect each other, so a copy has the workloads of one tree only. A job that is
ordered to stop stops at once: a trial shows what would happen, not how long it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from tidegate.contracts.decisions import (
    DecisionEvent,
    StopOrdered,
    WorkloadPending,
    WorkloadPreempted,
)
from tidegate.contracts.facts import FactEvent, WorkloadStopped
from tidegate.contracts.phases import HOLDING
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.queueing.siblings import acting_variant
from tidegate.core.quota.forest import forest
from tidegate.core.state.state import State, Workload
from tidegate.model.podset import PodSetAssignment

TURNS_MAX = 200
"""After so many turns a trial ends although more may follow: kueue mode may go on for ever."""


class TrialOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a trial."""

    starts: bool  # the workload got quota
    preempts: tuple[str, ...] = ()  # workloads that it preempted
    assignment: tuple[PodSetAssignment, ...] = ()  # its assignment
    message: str = ""  # why it waits, if a new reason was recorded


class Trial:
    """A copy of the state for any number of trials."""

    def __init__(
        self, state: State, workload: str, tick: Callable[[], None] = lambda: None
    ) -> None:
        self._key, self._tick = workload, tick
        self._base = encode(state_of_tree(state, state.workloads[workload]))
        self.count = 0  # trials so far

    def outcome_after(self, facts: Iterable[FactEvent]) -> TrialOutcome:
        """Return the outcome for the workload after these facts."""
        self.count += 1
        self._tick()
        state = decode(self._base)
        for fact in facts:
            apply(state, fact)
        preempts, message = dict[str, None](), ""
        for _ in range(TURNS_MAX):
            decisions = decide(state)
            for decision in decisions:
                self._apply_decision(state, decision, preempts)
                if isinstance(decision, WorkloadPending) and decision.workload == self._key:
                    message = decision.message
            if not decisions or _has_quota(state, self._key):
                break
        starts = _has_quota(state, self._key)
        return TrialOutcome(
            starts=starts,
            preempts=tuple(preempts),
            assignment=state.workloads[self._key].assignment if starts else (),
            message=message,
        )

    def _apply_decision(
        self, state: State, decision: DecisionEvent, preempts: dict[str, None]
    ) -> None:
        match decision:
            case WorkloadPreempted() if decision.by == self._key:
                preempts[decision.workload] = None
            case StopOrdered():
                stopped = WorkloadStopped(
                    at_us=state.now_us, workload=decision.workload, uid=decision.uid
                )
                apply(state, stopped)
            case _:
                pass  # whether it starts does not depend on it


def state_of_tree(state: State, workload: Workload) -> State:
    """Return a state with only the unfinished workloads of one tree."""
    cq = forest(state).cluster_queues.get(workload.cluster_queue)
    names = (
        {workload.cluster_queue}
        if cq is None
        else {cluster_queue.name for cluster_queue in cq.tree.cluster_queues}
    )
    workloads = {
        key: other
        for key, other in state.workloads.items()
        if other.cluster_queue in names and other.phase != "finished"
    }
    return replace(
        state,
        workloads=workloads,
        by_uid={uid: key for uid, key in state.by_uid.items() if key in workloads},
        by_queue={
            queue: dict.fromkeys(key for key in keys if key in workloads)
            for queue, keys in state.by_queue.items()
        },
        intents={key: intent for key, intent in state.intents.items() if key in workloads},
    )


def _has_quota(state: State, key: str) -> bool:
    workload = state.workloads.get(key)
    return workload is not None and acting_variant(state, workload).phase in HOLDING
