"""A small cluster's morning, decided by the real core: the ledger of ``tidegate ledger sample``.

Observations go in as ingest would tell them, decisions come out, and what the actuator and the Job
controller would do with those is observed a second later. Nothing in it is random, so the ledger is
the same each time, to the last byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from msgspec.structs import replace

from tidegate.cli.sample.story import LAST, LISTED, MINUTE_US, SESSION, START_US, STORY
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.codec import encode
from tidegate.contracts.decisions import StartOrdered, StopOrdered
from tidegate.contracts.entry import Entry, Message, Position
from tidegate.contracts.facts import FactEvent, LedgerOpened, PolicyConfigured
from tidegate.contracts.observations import (
    Heartbeat,
    JobObserved,
    JobState,
    Observation,
    Observed,
    SyncCompleted,
    SyncStarted,
)
from tidegate.contracts.subjects import observed_subject
from tidegate.core.accept import accept
from tidegate.core.decide import VERSION, decide
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.model.policy import Policy

CLUSTER, LEDGER_ID, EPOCH = "local", "5a3e", 1
SECOND_US = 1_000_000


def sample_turns(until_us: int = 0) -> Iterator[list[Entry]]:
    """Yield the sample's turns, sealed, in order; turns without events are left out.

    ``until_us``: at that moment, unless it is 0, the job ``tune`` ends, and with that the ledger.
    """
    morning = _SampleCluster()
    yield morning.open()
    yield morning.observe(START_US, _initial_lists())
    for minute, observations in STORY:
        at_us = START_US + minute * MINUTE_US
        yield from filter(None, morning.run_until(at_us))
        if entries := morning.observe(at_us, observations):
            yield entries
    if until_us:
        yield from filter(None, morning.run_until(until_us))
        yield morning.observe(until_us, LAST)


class _SampleCluster:
    """The scheduler, and a cluster in which everything that is ordered happens in a second."""

    def __init__(self) -> None:
        self._state, self._head, self._position = State(), GENESIS, Position(START_US, 0)
        self._messages = 0  # messages so far: position, resourceVersion and heartbeat count with it
        self._jobs = dict[str, JobObserved]()  # by workload, as last observed
        self._due = list[tuple[int, JobObserved]]()

    def open(self) -> list[Entry]:
        """Begin the ledger."""
        opened = LedgerOpened(
            at_us=START_US, ledger_id=LEDGER_ID, cluster=CLUSTER, software="tidegate sample"
        )
        configured = PolicyConfigured(at_us=START_US, name="tidegate", policy=Policy(rules=VERSION))
        facts: list[FactEvent] = [opened, configured]
        for fact in facts:
            apply(self._state, fact)
        return self._append_turn(facts)

    def observe(self, at_us: int, observations: tuple[Observation, ...]) -> list[Entry]:
        """Run a turn on a heartbeat and what was observed."""
        seconds = (at_us - START_US) // SECOND_US
        beat = Heartbeat(session=SESSION, beat=seconds + 1, resources=tuple(LISTED))
        messages = [self._message(at_us, observation) for observation in (beat, *observations)]
        facts, self._position = accept(self._state, self._position, messages)
        return self._append_turn(facts)

    def run_until(self, at_us: int) -> Iterator[list[Entry]]:
        """Play all steps that are due before a time."""
        while self._due and self._due[0][0] < at_us:
            now_us = self._due[0][0]
            observations = tuple(job for due_us, job in self._due if due_us == now_us)
            self._due = [due for due in self._due if due[0] != now_us]
            yield self.observe(now_us, observations)

    def _append_turn(self, facts: list[FactEvent]) -> list[Entry]:
        decided = decide(self._state)
        entries = seal(self._head, EPOCH, CLUSTER, [*facts, *decided])
        for entry, event in zip(entries[len(facts) :], decided, strict=True):
            if isinstance(event, StartOrdered | StopOrdered):
                self._execute_order(entry, event)
        self._head = entries[-1] if entries else self._head
        return entries

    def _execute_order(self, entry: Entry, order: StartOrdered | StopOrdered) -> None:
        """Let the actuator patch the job and its pods start or end, a second later."""
        job, starts = self._jobs[order.workload], isinstance(order, StartOrdered)
        pods = job.podsets[0].count if starts else 0
        state = JobState(
            suspended=not starts,
            started=starts,
            active=pods,
            ready=pods,
            decision=f"{LEDGER_ID}/{entry.seq}",
        )
        self._due.append((entry.at_us + SECOND_US, replace(job, state=state)))
        self._due.sort(key=itemgetter(0))

    def _message(self, at_us: int, observation: Observation) -> Message:
        self._messages += 1
        if isinstance(observation, Observed):
            observation = replace(observation, version=self._messages)
        if isinstance(observation, JobObserved):
            observation = self._jobs[observation.workload] = self._current_job(observation)
        place = Position(START_US, self._messages)
        return Message(place, at_us, _subject(observation), encode(observation))

    def _current_job(self, job: JobObserved) -> JobObserved:
        observation = self._jobs.get(job.workload)
        if observation is None or not job.finished:
            return job
        state = replace(
            observation.state, active=0, ready=0, succeeded=observation.podsets[0].count
        )
        return replace(job, state=state)


def _initial_lists() -> tuple[Observation, ...]:
    rows = list[Observation]()
    for resource, objects in LISTED.items():
        rows.append(SyncStarted(resource=resource, session=SESSION, round=1))
        rows += [replace(observation, round=1) for observation in objects]
        rows.append(
            SyncCompleted(
                resource=resource,
                session=SESSION,
                round=1,
                list_version=1,
                present=tuple(observation.uid for observation in objects),
            )
        )
    return tuple(rows)


def _subject(observation: Observation) -> str:
    if isinstance(observation, JobObserved):
        return observed_subject(CLUSTER, "jobs.batch", observation.namespace, observation.name)
    return observed_subject(CLUSTER, "other", "", "")
