"""A cluster in virtual time: jobs run their time, stop when ordered, and lose what they ran.

Each outside change, an arrival or an end, is folded and decided by itself, as in a cluster that is
not behind; its cost is the CPU time until nothing more follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from time import process_time_ns

from bench.real.arrivals import Job
from tidegate.contracts import facts
from tidegate.contracts.decisions import (
    DecisionEvent,
    StartOrdered,
    StopOrdered,
    WorkloadPreempted,
)
from tidegate.contracts.facts import FactEvent
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.state.deadlines import next_due
from tidegate.core.state.state import State

ROUNDS_MAX = 1_000
"""More turns than this behind one outside change: it never settles."""


@dataclass
class Tally:
    """What a run came to; amounts are milli-CPU times microseconds, a GPU counting as ten CPUs."""

    changes: int = 0  # arrivals and ends
    decisions: int = 0
    preemptions: int = 0
    preemptions_max: int = 0  # behind one outside change
    finished: int = 0
    used: int = 0  # of those that ran to their end, or were stopped
    lost: int = 0  # of those that were stopped
    settled: bool = True
    cpu_ns: int = 0
    costs_ns: list[int] = field(default_factory=list)  # of each outside change
    waits_us: list[int] = field(default_factory=list)  # until the last start of each that finished


@dataclass
class Cluster:
    """The jobs that run, and the state that decides over them."""

    state: State = field(default_factory=State)
    tally: Tally = field(default_factory=Tally)
    now_us: int = 0
    jobs: dict[str, Job] = field(default_factory=dict)
    running: dict[str, int] = field(default_factory=dict)  # key to when it started
    ends: list[tuple[int, str, int]] = field(default_factory=list)  # heap: when, key, started
    stop_us: int = 0  # how long pods take to stop; 0: they are gone as the order comes
    stops: list[tuple[int, str]] = field(default_factory=list)  # heap: when, key

    def fold(self, events: Iterator[FactEvent] | list[FactEvent]) -> None:
        """Fold facts."""
        for event in events:
            apply(self.state, event)

    def next_end_us(self) -> int | None:
        """Return when the next job ends; None: none runs."""
        while self.ends and self.running.get(self.ends[0][1]) != self.ends[0][2]:
            heappop(self.ends)  # it was stopped before
        return self.ends[0][0] if self.ends else None

    def run_until(self, until_us: int) -> None:
        """Let jobs end, and deadlines fire, up to a time."""
        while (now_us := self._next_us()) is not None and now_us <= until_us:
            self.now_us = max(self.now_us, now_us)
            self.step()
        self.now_us = until_us

    def step(self, arriving: Job | None = None) -> None:
        """Fold what happens now, and decide until nothing more follows."""
        began_ns, before = process_time_ns(), self.tally.preemptions
        if (due_us := next_due(self.state)) is not None and due_us <= self.now_us:
            self.fold([facts.TimePassed(at_us=self.now_us)])
        while (end_us := self.next_end_us()) is not None and end_us <= self.now_us:
            self._finish(heappop(self.ends)[1])
        while self.stops and self.stops[0][0] <= self.now_us:
            self._report_stopped(heappop(self.stops)[1])
        if arriving is not None:
            self.arrive(arriving)
        self.decide()
        cost_ns = process_time_ns() - began_ns
        self.tally.cpu_ns += cost_ns
        self.tally.costs_ns.append(cost_ns)
        behind = self.tally.preemptions - before
        self.tally.preemptions_max = max(self.tally.preemptions_max, behind)

    def lost_share(self) -> float:
        """Return the share of all that was run that was lost; what runs still may yet end."""
        running = (
            self.jobs[key].cpu * (self.now_us - since) for key, since in self.running.items()
        )
        used = self.tally.used + sum(running)
        return self.tally.lost / used if used else 0.0

    def arrive(self, job: Job) -> None:
        """Submit a job."""
        self.jobs[job.asked.workload] = job
        self.tally.changes += 1
        self.fold([job.asked])

    def decide(self) -> None:
        """Decide until nothing more follows, and obey."""
        for _ in range(ROUNDS_MAX):
            decisions = decide(self.state)
            self.tally.decisions += len(decisions)
            for decision in decisions:
                self._apply_order(decision)
            if not decisions:
                return
        self.tally.settled = False

    def _next_us(self) -> int | None:
        stop_us = self.stops[0][0] if self.stops else None
        times = (self.next_end_us(), next_due(self.state), stop_us)
        return min((time for time in times if time is not None), default=None)

    def _finish(self, key: str) -> None:
        job, started = self.jobs.pop(key), self.running.pop(key)
        self.tally.used += job.cpu * (self.now_us - started)
        self.tally.finished += 1
        self.tally.changes += 1
        self.tally.waits_us.append(started - job.at_us)
        uid = job.asked.uid
        self.fold([facts.WorkloadFinished(at_us=self.now_us, workload=key, uid=uid)])

    def _apply_order(self, decision: DecisionEvent) -> None:
        match decision:
            case StartOrdered():
                key, job = decision.workload, self.jobs[decision.workload]
                self.running[key] = self.now_us
                heappush(self.ends, (self.now_us + job.run_us, key, self.now_us))
            case StopOrdered():
                self._stop_job(decision.workload)
            case WorkloadPreempted():
                self.tally.preemptions += 1
            case _:
                pass  # the ledger's, not the cluster's

    def _stop_job(self, key: str) -> None:
        job, started = self.jobs[key], self.running.pop(key, self.now_us)
        ran = job.cpu * (self.now_us - started)
        self.tally.lost += ran
        self.tally.used += ran
        if self.stop_us:
            heappush(self.stops, (self.now_us + self.stop_us, key))
        else:
            self._report_stopped(key)

    def _report_stopped(self, key: str) -> None:
        uid = self.jobs[key].asked.uid
        self.fold([facts.WorkloadStopped(at_us=self.now_us, workload=key, uid=uid)])
