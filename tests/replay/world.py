"""A small cluster whose jobs do what they are told, later or never, and the ledger that follows.

Every turn is the scheduler's: accept, decide, seal. The world may take another state at any time,
as a scheduler does that starts again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from tests.core.telling import BEGIN, JOBS, LEDGER, SECOND, Bus, beat, completed, flavor, gone, job
from tests.core.telling import started as begun
from tidegate.contracts import observations
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.decisions import DecisionEvent, StartOrdered, StopOrdered
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event, LedgerOpened
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.model.podset import Container, LabelSelector, PodSet
from tidegate.model.policy import Policy
from tidegate.model.quota import (
    ClusterQueueSpec,
    FlavorQuotas,
    LocalQueueSpec,
    Preemption,
    Quota,
    ResourceGroup,
    StopPolicy,
)

QUEUES = ("a", "b", "c")
"""ClusterQueues, each with a LocalQueue of its name; a and b share a cohort."""
EVERY_WAY = Preemption(
    within_cluster_queue="LowerPriority",
    reclaim_within_cohort="Any",
    borrow_within_cohort="LowerPriority",
)


@dataclass
class Ordered:
    """What the cluster was last told to do with a job."""

    start: bool
    seq: int


@dataclass
class World:
    """One ledger, its live state, and the cluster that it is about."""

    decisions_max: int = 1_000
    bus: Bus = field(default_factory=Bus)
    entries: list[Entry] = field(default_factory=list)
    jobs: dict[str, observations.JobObserved] = field(default_factory=dict)
    orders: dict[str, Ordered] = field(default_factory=dict)
    version: int = 100
    beats: int = 1
    quotas: dict[str, int] = field(default_factory=lambda: dict.fromkeys(QUEUES, 4))
    stops: dict[str, StopPolicy] = field(default_factory=dict)

    def open(self, policy: Policy = Policy()) -> World:  # noqa: B008 - a frozen Struct
        """Open the ledger over three queues, no jobs and completed first rounds."""
        opened = LedgerOpened(at_us=BEGIN, ledger_id=LEDGER)
        apply(self.bus.state, opened)
        self._write([opened], [])
        configured = observations.PolicyObserved(
            name="p", uid="p", version=1, session="s", policy=policy
        )
        namespace = observations.NamespaceObserved(name="team", uid="team", version=1, session="a")
        flavors = flavor("f"), flavor("g")
        self.turn(configured, namespace, *flavors, *map(self.queue, QUEUES), *locals_())
        self.turn(beat(1, JOBS), begun(), completed(50))
        return self

    def turn(self, *observed: observations.Observation) -> list[DecisionEvent]:
        """Play one turn of the scheduler; return what it decided."""
        facts = self.bus.tell(*observed)
        decided = decide(self.bus.state, decisions_max=self.decisions_max)
        self._write(facts, decided)
        return decided

    def settle(self) -> None:
        """Play turns without observations until nothing more follows; in Kueue's way, a few."""
        circles = self.bus.state.policy.compatibility == "kueue"
        for _ in range(3 if circles else 1_000):
            if not self.turn():
                return
        assert circles, "the core does not come to rest"

    def queue(self, name: str) -> observations.Observation:
        """Return the observation of a ClusterQueue as its quota and stop policy are now."""
        self.version += 1
        amounts = {"f": self.quotas[name] * 1_000, "g": 2_000}
        flavors = tuple(
            FlavorQuotas(flavor=each, quotas={"cpu": Quota(nominal=amount)})
            for each, amount in amounts.items()
        )
        spec = ClusterQueueSpec(
            cohort="" if name == "c" else "all",
            groups=(ResourceGroup(resources=("cpu",), flavors=flavors),),
            strategy="StrictFIFO" if name == "b" else "BestEffortFIFO",
            namespace_selector=LabelSelector(),
            preemption=EVERY_WAY,
            stop_policy=self.stops.get(name, "None"),
        )
        return observations.ClusterQueueObserved(
            name=name, uid=f"cq-{name}", version=self.version, session="a", spec=spec
        )

    def submit(self, queue: str, cpus: int, priority: int) -> observations.Observation:
        """Return a new job, suspended, of one pod."""
        self.version += 1
        name = f"j{self.version}"
        requests = {"cpu": str(cpus)}
        self.jobs[name] = job(
            name,
            version=self.version,
            queue=queue,
            priority=priority,
            created_us=self.version,
            podsets=(PodSet(containers=(Container(requests=requests),)),),
        )
        return self.jobs[name]

    def obey(self, name: str) -> Iterable[observations.Observation]:
        """Carry out what was last ordered for a job, if that is still to be done."""
        order, known = self.orders.get(name), self.jobs[name]
        if order is None or known.state.decision == f"{LEDGER}/{order.seq}":
            return ()
        state = observations.JobState(
            suspended=not order.start,
            started=order.start,
            active=int(order.start),
            decision=f"{LEDGER}/{order.seq}",
            generation=known.state.generation + 1,
        )
        return (self.tell(name, state=state),)

    def disobey(self, name: str) -> observations.Observation:
        """Let a user start or suspend a job by hand."""
        state = self.jobs[name].state
        return self.tell(name, state=replace(state, suspended=not state.suspended))

    def ask(self, name: str, number: int) -> observations.Observation:
        """Let the owner of a job change what it asks for, as far as a job may."""
        known = self.jobs[name]
        if number % 3 == 0:
            return self.tell(name, active=not known.active)
        if number % 3 == 1 or not known.state.suspended:
            return self.tell(name, priority=number)
        return self.tell(name, queue=QUEUES[number % 3])

    def finish(self, name: str) -> observations.Observation:
        """Let a job end."""
        observation = self.tell(name, finished="Succeeded")
        del self.jobs[name]
        return observation

    def delete(self, name: str) -> observations.Observation:
        """Delete a job."""
        self.version += 1
        del self.jobs[name]
        return gone(name, self.version)

    def rush(self, queue: str) -> None:
        """Let a large job come at the next full ten seconds, take what it needs, and end."""
        self.turn(self.wait(10 - self.beats % 10))
        self.turn(self.submit(queue, 6, 9))
        large = max(self.jobs)
        self.all_obey()
        self.turn(self.wait(1))
        if not self.jobs[large].state.suspended:
            self.turn(self.finish(large))
        self.all_obey()

    def all_obey(self) -> None:
        """Carry out all orders, those that follow from stops included."""
        for _ in range(2):
            for name in sorted(self.jobs):
                self.turn(*self.obey(name))

    def wait(self, seconds: int) -> observations.Observation:
        """Let time pass, by a heartbeat."""
        self.beats += seconds
        self.bus.at_us += seconds * SECOND
        return beat(self.beats, JOBS)

    def tell(self, name: str, **obj: object) -> observations.JobObserved:
        """Return what is seen of a job after something of it changed."""
        self.version += 1
        self.jobs[name] = replace(self.jobs[name], version=self.version, **obj)
        return self.jobs[name]

    def _write(self, facts: Iterable[Event], decided: Iterable[Event]) -> None:
        head = self.entries[-1] if self.entries else GENESIS
        entries = seal(head, 1, "local", [*facts, *decided])
        for entry, event in zip(entries, [*facts, *decided], strict=True):
            if isinstance(event, StartOrdered | StopOrdered):
                start = isinstance(event, StartOrdered)
                self.orders[event.job.name] = Ordered(start, entry.seq)
        self.entries += entries


def locals_() -> list[observations.Observation]:
    """Return a LocalQueue for each ClusterQueue."""
    return [
        observations.LocalQueueObserved(
            namespace="team",
            name=name,
            uid=f"lq-{name}",
            version=1,
            session="a",
            spec=LocalQueueSpec(cluster_queue=name),
        )
        for name in QUEUES
    ]
