"""A cluster in virtual time around the core: jobs run, end, and stop at once when ordered.

No bus, no ledger, no bytes: facts are folded, decisions read. A job runs its time after
StartOrdered and loses all of it when it is stopped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from heapq import heappop, heappush
from time import process_time

import msgspec

from bench.virtual.loads import Arrival, Load, beginning, flat_queues, submitted
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

DECISIONS_A_WORKLOAD_MAX = 400
"""More decisions than this for each workload: it never settles."""
DIGEST_EVERY = 1_000
_encode = msgspec.msgpack.Encoder().encode


@dataclass
class Tally:
    """What a run came to; times are virtual but ``cpu_s``."""

    facts: int = 0
    decisions: int = 0
    preemptions: int = 0
    lost_cpu_us: int = 0
    used_cpu_us: int = 0
    makespan_us: int = 0
    cpu_s: float = 0.0
    finished: int = 0
    settled: bool = True
    cut: bool = False  # it took too long and was ended
    digests: list[str] = field(default_factory=list)
    """Of all decisions so far, after each thousand and at the end."""


class Digest:
    """What a run decided as a number: two runs that decided the same have the same."""

    def __init__(self, tally: Tally) -> None:
        """Begin with nothing decided; ``tally`` gets the digests."""
        self._tally, self._hash, self._count = tally, sha256(), 0

    def add(self, decision: DecisionEvent) -> None:
        """Count a decision."""
        self._hash.update(_encode(decision))
        self._count += 1
        if self._count % DIGEST_EVERY == 0:
            self.record()

    def record(self) -> None:
        """Put the digest of all that was decided so far into the tally."""
        self._tally.digests.append(self._hash.hexdigest()[:16])


@dataclass
class Cluster:
    """The jobs that run, and the state that decides over them."""

    state: State = field(default_factory=State)
    tally: Tally = field(default_factory=Tally)
    now_us: int = 0
    jobs: dict[str, Arrival] = field(default_factory=dict)
    running: dict[str, int] = field(default_factory=dict)  # key to when it started
    ends: list[tuple[int, str, int]] = field(default_factory=list)  # heap: when, key, started
    digest: Digest | None = None  # None: not requested; it costs time

    def fold(self, events: Iterator[FactEvent] | list[FactEvent]) -> None:
        """Fold facts."""
        for event in events:
            apply(self.state, event)
            self.tally.facts += 1

    def arrive(self, arrival: Arrival) -> None:
        """Submit a job."""
        fact = submitted(arrival)
        self.jobs[fact.workload] = arrival
        self.fold([fact])

    def pass_time(self) -> None:
        """Let the state's own deadlines fire, as a heartbeat would."""
        due_us = next_due(self.state)
        if due_us is not None and due_us <= self.now_us:
            self.fold([facts.TimePassed(at_us=self.now_us)])

    def finish_due(self) -> None:
        """Let the jobs end whose time is over."""
        while self.ends and self.ends[0][0] <= self.now_us:
            _, key, started = heappop(self.ends)
            if self.running.get(key) == started:
                self.finish(key)

    def finish(self, key: str) -> None:
        """Let one job end."""
        job, started = self.jobs.pop(key), self.running.pop(key)
        self.tally.used_cpu_us += job.cpu * (self.now_us - started)
        self.tally.finished += 1
        self.tally.makespan_us = self.now_us
        self.fold([facts.WorkloadFinished(at_us=self.now_us, workload=key, uid=job.name)])

    def decide(self, decisions_max: int) -> bool:
        """Decide until nothing follows; tell whether that came within ``decisions_max`` in all."""
        while decisions := decide(self.state):
            self.tally.decisions += len(decisions)
            for decision in decisions:
                if self.digest is not None:
                    self.digest.add(decision)
                self._apply_order(decision)
            if self.tally.decisions > decisions_max:
                return False
        return True

    def _apply_order(self, decision: DecisionEvent) -> None:
        match decision:
            case StartOrdered():
                job = self.jobs[decision.workload]
                self.running[decision.workload] = self.now_us
                heappush(self.ends, (self.now_us + job.run_us, decision.workload, self.now_us))
            case StopOrdered():
                self._stop_job(decision.workload)
            case WorkloadPreempted():
                self.tally.preemptions += 1
            case _:
                pass  # the ledger's, not the cluster's

    def _stop_job(self, key: str) -> None:
        job, started = self.jobs[key], self.running.pop(key, self.now_us)
        self.tally.lost_cpu_us += job.cpu * (self.now_us - started)
        self.tally.used_cpu_us += job.cpu * (self.now_us - started)
        self.fold([facts.WorkloadStopped(at_us=self.now_us, workload=key, uid=job.name)])


def drive(  # noqa: PLR0913 - each is one dimension of the measurement
    load: Load,
    mode: str,
    *,
    fair: bool,
    staggered: bool,
    cluster: Cluster | None = None,
    cpu_s_max: float = 0.0,
    digest: bool = False,
) -> Tally:
    """Run a load to its end, or until it turns out that it never settles or takes too long.

    ``cpu_s_max`` bounds the CPU seconds; 0 does not. With ``digest`` the tally tells what was
    decided as a number, which costs time.
    """
    cluster = Cluster() if cluster is None else cluster
    if digest:
        cluster.digest = Digest(cluster.tally)
    started_s = process_time()
    cluster.fold(beginning(mode, fair=fair))
    cluster.fold(flat_queues(load.cohorts, load.queues_each))
    arrivals = load.arrivals(staggered=staggered)
    coming = next(arrivals, None)
    decisions_max = load.count * DECISIONS_A_WORKLOAD_MAX
    while coming is not None or cluster.ends or next_due(cluster.state) is not None:
        cluster.now_us = _next_us(coming, cluster)
        cluster.pass_time()
        cluster.finish_due()
        while coming is not None and coming.at_us <= cluster.now_us:
            cluster.arrive(coming)
            coming = next(arrivals, None)
        if not cluster.decide(decisions_max):
            cluster.tally.settled = False
            break
        cluster.tally.cut = 0 < cpu_s_max < process_time() - started_s
        if cluster.tally.cut:
            break
        _progress(load, cluster)
    cluster.tally.cpu_s = process_time() - started_s
    if cluster.digest is not None:
        cluster.digest.record()
    sys.stderr.write("\n")
    return cluster.tally


def _next_us(coming: Arrival | None, cluster: Cluster) -> int:
    times = [] if coming is None else [coming.at_us]
    if (due_us := next_due(cluster.state)) is not None:
        times.append(max(due_us, cluster.now_us))
    if cluster.ends:
        times.append(cluster.ends[0][0])
    return min(times)


def _progress(load: Load, cluster: Cluster) -> None:
    if sys.stderr.isatty() or cluster.tally.finished == load.count:
        done = f"{cluster.tally.finished}/{load.count}"
        sys.stderr.write(f"\r{load.name}: {done} at {cluster.now_us / 1e6:.1f} s")
