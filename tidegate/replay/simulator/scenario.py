"""The inputs of a recorded history: its definitions, its submissions, and each job's run time.

Decisions are left out, and facts that followed from them alone (starts, stops, readiness): the
simulation produces its own. A job's run time is that from its last start to its end, since a
stopped job begins again. For a job that never ended it is estimated, longer than it ever ran.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from tidegate.contracts import facts
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import QuotaReserved, StartOrdered, StopOrdered, WorkloadDecision
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import FactEvent
from tidegate.contracts.phases import HOLDING
from tidegate.core.folding.snapshot import write
from tidegate.core.state.state import State
from tidegate.replay.figures import percentile

STOP_US = 1_000_000
"""How long a stop takes if none was recorded, in microseconds."""
_MEDIAN = 50


class CheckAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The last state of an admission check, and its time after the reservation."""

    state: str
    after_us: int


class Reclaimed(msgspec.Struct, frozen=True, kw_only=True):
    """The number of finished pods of each podset, at a time after the start."""

    after_us: int
    pods: dict[str, int]


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """The course of a job once it is started."""

    run_us: int | None  # None: it never ends
    removed: bool = False  # it was deleted while it ran
    reason: str = "Succeeded"
    assumed: bool = False  # estimated from others of its queue: it waits at the end of the history
    reclaimed: tuple[Reclaimed, ...] = ()


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of a simulation; the same for both sides of a comparison."""

    start: bytes  # the state at the beginning, as a snapshot
    from_us: int
    to_us: int | None  # None: until no further events follow
    facts: tuple[FactEvent, ...]  # in time order
    runs: dict[str, Run]  # by workload and uid
    stop_us: int = STOP_US  # how long a stop takes
    answers: dict[str, dict[str, CheckAnswer]] = {}  # by workload and uid, by check

    @property
    def assumed(self) -> int:
        """Return how many jobs have an estimated run time."""
        return sum(run.assumed for run in self.runs.values())

    @property
    def endless(self) -> int:
        """Return how many jobs ran and had not ended."""
        return sum(run.run_us is None and not run.assumed for run in self.runs.values())


def identity(workload: str, uid: str) -> str:
    """Return a key that distinguishes a workload from earlier ones of its name."""
    return f"{workload} {uid}"


def recorded_scenario(entries: Iterable[Entry], begun: State | None = None) -> Scenario:
    """Return the scenario of a recorded history.

    Args:
        entries: of the scenario; the last one's time is its end.
        begun: the state before the entries, which is only read; None: they begin with seq 1.
    """
    state, reading = State() if begun is None else begun, _ScenarioReader()
    reading.begin(state)
    from_us, at_us = (state.now_us if state.seq else None), state.now_us
    for entry in entries:
        from_us, at_us = entry.at_us if from_us is None else from_us, max(at_us, entry.at_us)
        reading.read(decode(entry.payload))
    return Scenario(
        start=write(state),
        from_us=at_us if from_us is None else from_us,
        to_us=at_us,
        facts=tuple(reading.facts),
        runs=reading.runs(),
        stop_us=percentile(reading.stops, _MEDIAN) if reading.stops else STOP_US,
        answers=reading.answers,
    )


class _ScenarioReader:
    """Collects the inputs of a history, event by event."""

    def __init__(self) -> None:
        self.facts = list[FactEvent]()
        self.stops = list[int]()
        self.answers = dict[str, dict[str, CheckAnswer]]()
        self._runs = dict[str, Run]()
        self._queues = dict[str, str]()  # identity to the LocalQueue by which it is estimated
        self._started = dict[str, int]()
        self._ran = dict[str, int]()  # the longest run time before a stop was ordered
        self._stopping = dict[str, int]()
        self._reserved = dict[str, int]()
        self._reclaimed = dict[str, list[Reclaimed]]()

    def begin(self, state: State) -> None:
        """Begin with the workloads that already run in a state."""
        for workload in state.workloads.values():
            mine = identity(workload.key, workload.uid)
            self._queues[mine] = workload.local_queue
            if workload.phase in HOLDING and workload.admitted_us:
                self._started[mine] = workload.admitted_us

    def read(self, event: facts.Event) -> None:
        """Collect the inputs in one event."""
        match event:
            case facts.WorkloadFact():
                self._read_fact(event)
            case WorkloadDecision():
                self._read_decision(event)
            case facts.Named() | facts.WatchesExpected() | facts.RoundStarted():
                self.facts.append(event)  # type: ignore[arg-type]  # Named is one of its kinds
            case facts.RoundCompleted() if not event.restored:
                self.facts.append(event)
            case facts.LedgerOpened() if not self.facts:
                self.facts.append(event)
            case _:
                pass  # gaps, resyncs and time

    def runs(self) -> dict[str, Run]:
        """Return all runs; unknown ones are estimated, or never end."""
        by_queue = dict[str, list[int]]()
        for mine, run in self._runs.items():
            if run.run_us is not None:
                by_queue.setdefault(self._queues[mine], []).append(run.run_us)
        every = [run_us for runs in by_queue.values() for run_us in runs]
        for mine, queue in self._queues.items():
            if mine in self._started:
                self._runs.setdefault(mine, Run(run_us=None))
            elif mine not in self._runs:
                guess = self._estimate_run(mine, by_queue.get(queue, ()), every)
                self._runs[mine] = Run(run_us=guess, assumed=True)
        return self._runs

    def _estimate_run(self, mine: str, alike: Iterable[int], every: Iterable[int]) -> int | None:
        """Return the median of longer run times of its queue, else of all queues, or None."""
        ran_us = self._ran.get(mine, -1)
        for runs in (alike, every):
            if longer := [run_us for run_us in runs if run_us > ran_us]:
                return percentile(longer, _MEDIAN)
        return None

    def _read_fact(self, event: facts.WorkloadFact) -> None:
        mine = identity(event.workload, event.uid)
        match event:
            case facts.WorkloadSubmitted() | facts.WorkloadAdopted() | facts.WorkloadChanged():
                self._keep_submission(mine, event)
            case facts.WorkloadFinished():
                self._end_run(mine, event, Run(run_us=0, reason=event.reason))
            case facts.WorkloadRemoved():
                self._end_run(mine, event, Run(run_us=0, removed=True))
            case facts.PodsReclaimed() if mine in self._started:
                after_us = event.at_us - self._started[mine]
                done = Reclaimed(after_us=after_us, pods=event.reclaimable)
                self._reclaimed.setdefault(mine, []).append(done)
            case facts.WorkloadStopped():
                self._started.pop(mine, None)
                if mine in self._stopping:
                    self.stops.append(event.at_us - self._stopping.pop(mine))
            case facts.CheckReported():
                after_us = event.at_us - self._reserved.get(mine, event.at_us)
                reclaimed = CheckAnswer(state=event.state, after_us=after_us)
                self.answers.setdefault(mine, {})[event.check] = reclaimed
            case _:
                pass  # follows from starts and stops

    def _keep_submission(
        self,
        mine: str,
        event: facts.WorkloadSubmitted | facts.WorkloadAdopted | facts.WorkloadChanged,
    ) -> None:
        self.facts.append(event)
        if isinstance(event, facts.WorkloadSubmitted):
            self._queues[mine] = f"{event.workload.partition('/')[0]}/{event.queue}"
        elif isinstance(event, facts.WorkloadAdopted):
            self._started[mine] = event.at_us

    def _end_run(
        self, mine: str, event: facts.WorkloadFinished | facts.WorkloadRemoved, run: Run
    ) -> None:
        if mine in self._runs:
            return  # it ended before: only its object is deleted
        started_us = self._started.get(mine)
        if started_us is None:
            self.facts.append(event)  # it ended while it was pending
        else:
            self._runs[mine] = replace(
                run,
                run_us=event.at_us - started_us,
                reclaimed=tuple(self._reclaimed.get(mine, ())),
            )

    def _read_decision(self, event: WorkloadDecision) -> None:
        mine = identity(event.workload, event.uid)
        match event:
            case QuotaReserved():
                self._reserved[mine] = event.at_us
            case StartOrdered():
                self._started[mine] = event.at_us
                self._stopping.pop(mine, None)
                self._reclaimed.pop(mine, None)
            case StopOrdered():
                self._stopping.setdefault(mine, event.at_us)
                ran_us = event.at_us - self._started.get(mine, event.at_us)
                self._ran[mine] = max(ran_us, self._ran.get(mine, 0))
            case _:
                pass  # the simulation takes its own decisions
