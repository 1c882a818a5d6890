"""Simulates a cluster in virtual time around the real core: jobs run, end, and stop on order.

There is no second scheduler here: facts are folded and ``decide`` decides, as in the service. A
started job runs for its run time, and for all of it again after a stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import Any, Literal

import msgspec

from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReserved,
    StartOrdered,
    StopOrdered,
    WorkloadDeactivated,
    WorkloadRequeued,
)
from tidegate.contracts.facts import (
    CheckReported,
    FactEvent,
    JobStateReported,
    PodsReadyReported,
    PodsReclaimed,
    TimePassed,
    WorkloadAdopted,
    WorkloadStopped,
)
from tidegate.contracts.observations import JobState
from tidegate.contracts.phases import HOLDING
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.folding.snapshot import decode
from tidegate.core.queueing.admission_checks import required_checks
from tidegate.core.state.deadlines import next_due
from tidegate.core.state.state import State, Workload
from tidegate.errors import TidegateError
from tidegate.replay.simulator.scenario import CheckAnswer, Run, Scenario, identity
from tidegate.replay.simulator.variants import endings_of_variants, run_of_job

TURNS_MAX = 100
"""At most so many turns at one time: in kueue mode they may go on for ever."""
DECISIONS_A_JOB = 1_000
"""After more decisions than this for each job, the simulation is taken never to settle."""
IDLE_MAX = 10_000
"""After so many deadlines in a row without any decision, the simulation ends."""
What = Literal["end", "stopped", "check", "reclaim"]
Watch = Callable[[FactEvent | DecisionEvent], None]
RUNS_ON = Run(run_us=None)
_SECOND_US = 1_000_000
READY = CheckAnswer(state="Ready", after_us=0)


class PlannedEvent(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A planned event of the cluster."""

    at_us: int
    number: int  # the oldest first among events of one time
    what: What
    workload: str
    uid: str
    mark: int = 0  # the number of its start
    check: str = ""
    pods: dict[str, int] = {}


class SimulatedCluster:
    """The jobs of a scenario, and the core's state."""

    def __init__(self, scenario: Scenario, facts: Iterable[FactEvent], watch: Watch) -> None:
        self._scenario, self._watch = scenario, watch
        self._facts = iter(facts)
        self._next_fact: FactEvent | None = None
        self.state: State = decode(scenario.start)
        self.now_us = scenario.from_us
        self._planned = list[PlannedEvent]()
        self._running = dict[str, int]()  # workload to its start's number
        self._pending_facts = list[FactEvent]()  # facts of this time, not folded yet
        self._number = self._idle = 0
        self._left = DECISIONS_A_JOB * (len(scenario.runs) + 1)  # decisions
        for workload in self.state.workloads.values():
            self._plan_next(workload)

    def run(self) -> Iterator[int]:
        """Let time pass to the end, step by step; yield the time after each step.

        Raises:
            TidegateError: jobs go on preempting each other without end.
        """
        self._next_fact = next(self._facts, None)
        while (at_us := self._next_us()) is not None:
            self.now_us = max(self.now_us, at_us)
            self._collect_facts()
            self._decide()
            if self._left < 0:
                raise TidegateError(
                    f"Jobs go on making each other leave at {self.now_us // _SECOND_US} s since "
                    "1970: under these rules they never settle. End before with --until or --to."
                )
            yield self.now_us

    def _next_us(self) -> int | None:
        times = [] if self._next_fact is None else [self._next_fact.at_us]
        if self._planned:
            times.append(self._planned[0].at_us)
        due_us = next_due(self.state)
        if due_us is not None and (times or self._idle < IDLE_MAX):
            times.append(due_us)
        at_us = min(times, default=None)
        end_us = self._scenario.to_us
        if at_us is None or (end_us is not None and at_us > end_us):
            return None
        return at_us

    def _collect_facts(self) -> None:
        """Collect the facts of the present time, and TimePassed if a deadline is due."""
        self._idle += 1
        due_us = next_due(self.state)
        if due_us is not None and due_us <= self.now_us:
            self._pending_facts.append(TimePassed(at_us=self.now_us))
        while self._planned and self._planned[0].at_us <= self.now_us:
            self._idle = 0
            self._apply_planned(heappop(self._planned))
        while self._next_fact is not None and self._next_fact.at_us <= self.now_us:
            self._idle = 0
            self._pending_facts.append(self._next_fact)
            self._next_fact = next(self._facts, None)

    def _decide(self) -> None:
        for _ in range(TURNS_MAX):
            for fact in self._pending_facts:
                apply(self.state, fact)
                self._watch(fact)
                self._adopt(fact)
            self._pending_facts = []
            decisions = decide(self.state)
            self._left -= len(decisions)
            for decision in decisions:
                self._idle = 0
                self._watch(decision)
                self._apply_decision(decision)
            if not decisions and not self._pending_facts:
                return

    def _apply_decision(self, decision: DecisionEvent) -> None:
        match decision:
            case StartOrdered():
                self._start_job(decision)
            case StopOrdered():
                self._stop_job(decision)
            case QuotaReserved():
                self._request_checks(decision)
            case WorkloadRequeued() | WorkloadDeactivated():
                self._running.pop(decision.workload, None)
            case _:
                pass  # no effect in the cluster

    def _start_job(self, order: StartOrdered) -> None:
        workload = self.state.workloads.get(order.workload)
        if workload is None:
            return
        self._begin_run(workload, 0)
        pods = sum(podset.count for podset in order.podsets)
        state = JobState(
            suspended=False,
            started=True,
            active=pods,
            ready=pods,
            decision=self._decision_of(workload),
            generation=workload.state.generation + 1,
        )
        self._report_state(workload, state)

    def _stop_job(self, order: StopOrdered) -> None:
        workload = self.state.workloads.get(order.workload)
        self._running.pop(order.workload, None)
        if workload is not None:
            self._plan("stopped", workload, self._scenario.stop_us)

    def _begin_run(self, workload: Workload, ran_us: int) -> None:
        self._number += 1
        self._running[workload.key] = self._number
        run = run_of_job(self.state, self._scenario.runs, workload) or RUNS_ON
        if run.run_us is not None:
            left_us = max(0, run.run_us - ran_us)
            self._plan("end", workload, left_us, mark=self._running[workload.key])
        for done in run.reclaimed:
            if done.after_us >= ran_us:
                mark = self._running[workload.key]
                self._plan("reclaim", workload, done.after_us - ran_us, mark=mark, pods=done.pods)

    def _plan_next(self, workload: Workload) -> None:
        """Plan the next event of a workload that runs, stops or waits for checks at the start."""
        if workload.phase == "admitted":
            self._begin_run(workload, self.now_us - workload.admitted_us)
        elif workload.phase == "evicting" or not workload.state.suspended:
            self._plan("stopped", workload, self._scenario.stop_us)
        if workload.phase == "reserved":
            self._plan_check_answers(workload)

    def _adopt(self, fact: FactEvent) -> None:
        if isinstance(fact, WorkloadAdopted):
            workload = self.state.workloads.get(fact.workload)
            if workload is not None and workload.phase in HOLDING:
                self._begin_run(workload, 0)

    def _request_checks(self, decision: QuotaReserved) -> None:
        workload = self.state.workloads.get(decision.workload)
        if workload is not None:
            self._plan_check_answers(workload)

    def _plan_check_answers(self, workload: Workload) -> None:
        """Plan each check's recorded state, at its recorded time; Ready if none was recorded."""
        answers = self._scenario.answers.get(identity(workload.key, workload.uid), {})
        for name in required_checks(self.state, workload.cluster_queue, workload.assignment):
            after_us = answers.get(name, READY).after_us
            self._plan("check", workload, after_us, check=name)

    def _plan(self, literal: What, workload: Workload, after_us: int, **more: Any) -> None:  # noqa: ANN401 - the fields of Due
        self._number += 1
        due = PlannedEvent(
            at_us=self.now_us + after_us,
            number=self._number,
            what=literal,
            workload=workload.key,
            uid=workload.uid,
            **more,
        )
        heappush(self._planned, due)

    def _apply_planned(self, due: PlannedEvent) -> None:
        workload = self.state.workloads.get(due.workload)
        if workload is None or workload.uid != due.uid or workload.phase == "finished":
            return
        match due.what:
            case "end":
                if self._running.get(due.workload) == due.mark:
                    del self._running[due.workload]
                    run = run_of_job(self.state, self._scenario.runs, workload) or RUNS_ON
                    self._pending_facts += endings_of_variants(
                        self.state, workload, run, self.now_us
                    )
            case "reclaim":
                if self._running.get(due.workload) == due.mark:
                    self._pending_facts.append(
                        PodsReclaimed(
                            at_us=self.now_us,
                            workload=due.workload,
                            uid=due.uid,
                            reclaimable=due.pods,
                        )
                    )
            case "stopped":
                self._report_stopped(workload)
            case "check":
                answers = self._scenario.answers.get(identity(due.workload, due.uid), {})
                fact = CheckReported(
                    at_us=self.now_us,
                    workload=due.workload,
                    uid=due.uid,
                    check=due.check,
                    state=answers.get(due.check, READY).state,
                )
                self._pending_facts.append(fact)

    def _report_stopped(self, workload: Workload) -> None:
        state = JobState(
            suspended=True,
            decision=self._decision_of(workload),
            generation=workload.state.generation + 1,
        )
        self._report_state(workload, state)
        if workload.phase == "evicting":
            stopped = WorkloadStopped(at_us=self.now_us, workload=workload.key, uid=workload.uid)
            self._pending_facts.append(stopped)

    def _report_state(self, workload: Workload, state: JobState) -> None:
        now_us, key, uid = self.now_us, workload.key, workload.uid
        self._pending_facts.append(
            JobStateReported(at_us=now_us, workload=key, uid=uid, state=state)
        )
        if workload.ready == state.suspended:
            ready = not state.suspended
            self._pending_facts.append(
                PodsReadyReported(at_us=now_us, workload=key, uid=uid, ready=ready)
            )

    def _decision_of(self, workload: Workload) -> str:
        seq = 0 if workload.order is None else workload.order.seq
        return f"{self.state.ledger_id}/{seq}"
