"""Forecasts when pending workloads start, by simulating short and long run times.

A job's run time is estimated from recent jobs of its LocalQueue. The simulator runs both quartiles
of these, which gives a range of start times: from all running jobs ending early to all ending late.
No further jobs are submitted meanwhile. Only the cohort trees of the given ClusterQueues are
simulated: other trees do not affect them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable
from typing import NamedTuple

import msgspec

from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import Decision, DecisionEvent, WorkloadAdmitted, WorkloadEvicted
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import FactEvent, WorkloadFinished
from tidegate.core.folding.snapshot import encode
from tidegate.core.state.state import State, Workload
from tidegate.replay.simulator.scenario import Run, Scenario, identity
from tidegate.replay.simulator.trees import trees_of
from tidegate.replay.simulator.virtual import SimulatedCluster

SHORT, LONG = 25, 75
"""Percentiles of the run times that are simulated."""
DAYS_US = 30 * 86_400_000_000
"""How far the forecast looks ahead, in microseconds."""
DECISIONS_MAX = 2_000
"""A simulation ends after so many decisions: ranges of workloads that still wait have no end."""


class RuntimeHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Recent run times of jobs, in microseconds, the shortest first."""

    by_queue: dict[str, list[int]]  # by LocalQueue, "<namespace>/<name>"
    every: list[int]


class Start(NamedTuple):
    """The range of a workload's start time, in UTC microseconds."""

    from_us: int
    to_us: int | None  # None: not known


def runtime_history(entries: Iterable[Entry]) -> RuntimeHistory:
    """Return the run times of jobs that started and ended within the given entries."""
    started, lengths = dict[str, tuple[str, int]](), dict[str, list[int]]()
    for entry in entries:
        match decode(entry.payload):
            case WorkloadAdmitted() as event:
                queue = f"{event.workload.partition('/')[0]}/{event.queue}"
                started[event.workload] = queue, event.at_us
            case WorkloadEvicted() as event:
                started.pop(event.workload, None)
            case WorkloadFinished() as event if event.workload in started:
                queue, since_us = started.pop(event.workload)
                lengths.setdefault(queue, []).append(event.at_us - since_us)
            case _:
                pass  # does not concern run times
    by_queue = {queue: sorted(runs) for queue, runs in lengths.items()}
    return RuntimeHistory(
        by_queue=by_queue, every=sorted(run for runs in lengths.values() for run in runs)
    )


class ForecastInput(NamedTuple):
    """The inputs of a forecast, independent of the state that they were copied from."""

    start: bytes  # a snapshot
    runs: tuple[dict[str, Run], dict[str, Run]]  # short and long run times, by identity
    waiting: frozenset[str]
    now_us: int

    def starts(self) -> dict[str, Start]:
        """Return the start ranges of pending workloads, without workloads that never start."""
        soon, late = (self._simulated_starts(runs) for runs in self.runs)
        return {
            name: Start(min(at_us, late.get(name, at_us)), _end_us(at_us, late.get(name)))
            for name, at_us in soon.items()
        }

    def _simulated_starts(self, runs: dict[str, Run]) -> dict[str, int]:
        begun, decisions = dict[str, int](), 0

        def watch(event: FactEvent | DecisionEvent) -> None:
            nonlocal decisions
            decisions += isinstance(event, Decision)
            if isinstance(event, WorkloadAdmitted) and event.workload in self.waiting:
                begun.setdefault(event.workload, event.at_us)

        scenario = Scenario(
            start=self.start, from_us=self.now_us, to_us=self.now_us + DAYS_US, facts=(), runs=runs
        )
        for _ in SimulatedCluster(scenario, (), watch).run():
            if decisions > DECISIONS_MAX or len(begun) == len(self.waiting):
                break
        return begun


def forecast(
    state: State, history: RuntimeHistory, now_us: int, queues: Collection[str]
) -> ForecastInput:
    """Return the forecast inputs for the pending workloads of some ClusterQueues.

    The state is only read. A job that has run longer than any finished one may end at once, or
    never.
    """
    part = trees_of(state, queues)
    return ForecastInput(
        start=encode(part),
        runs=(
            _estimated_runs(part, history, now_us, SHORT),
            _estimated_runs(part, history, now_us, LONG),
        ),
        waiting=frozenset(
            workload.key
            for workload in part.workloads.values()
            if workload.phase in {"pending", "reserved"}
        ),
        now_us=now_us,
    )


def _end_us(soon_us: int, late_us: int | None) -> int | None:
    # Longer runs may start a workload earlier, if quota that another would use becomes free for it.
    return None if late_us is None else max(soon_us, late_us)


def _estimated_runs(
    state: State, history: RuntimeHistory, now_us: int, percent: int
) -> dict[str, Run]:
    return {
        identity(workload.key, workload.uid): _estimated_run(workload, history, now_us, percent)
        for workload in state.workloads.values()
    }


def _estimated_run(workload: Workload, history: RuntimeHistory, now_us: int, percent: int) -> Run:
    runs = workload.phase == "admitted" and workload.admitted_us
    ran_us = now_us - workload.admitted_us if runs else 0
    for alike in (history.by_queue.get(workload.local_queue, []), history.every):
        shorter = bisect_right(alike, ran_us)
        if longer := len(alike) - shorter:
            nearest = shorter + max(0, -(-percent * longer // 100) - 1)
            return Run(run_us=alike[nearest], assumed=True)
    return Run(run_us=ran_us if percent == SHORT else None, assumed=True)
