"""The slow way judges the fast one where jobs are placed in member clusters.

``python -m tests.core.placed_judge --seeds N``: a hub with two members, ClusterQueues of one cohort
whose flavors exist in the hub, in one member or in both, and LocalQueues of which most place their
jobs. Jobs come and end, copies are made, started and removed as ordered, now and then later; a
member is silent for a while, a namespace takes no more copies, a name is taken.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

from msgspec.structs import replace

from tests.core.judge import Way, judge
from tests.core.member_clusters import MEMBERS, POLICY, Hub, Stream
from tests.core.queues import of_cpu
from tests.core.telling import RUNNING, Bus, flavor, gone, job
from tidegate.contracts import observations
from tidegate.contracts.codec import encode
from tidegate.contracts.decision_kinds.copies import CopyOrdered, CopyRemovalOrdered
from tidegate.contracts.decisions import DecisionEvent, StartOrdered, StopOrdered
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.contracts.observed.clusters import CopySeen
from tidegate.kinds.names import ACCEPTS_PLACED
from tidegate.model.clusters import AT, cluster_of, local_name
from tidegate.model.podset import Container, PodSet
from tidegate.model.policy import Strategy
from tidegate.model.quota import FlavorSpec, LocalQueueSpec, Preemption, Quota

Order: TypeAlias = CopyOrdered | CopyRemovalOrdered | StartOrdered | StopOrdered
FLAVORS = {"own": (), "east": ("east",), "west": ("west",), "any": ("west", "east")}
CPUS, BOOSTS, STEPS, ROUNDS_MAX = (1, 1, 2), (0, 0, 10, 100), (6, 12), 200
STRATEGIES: tuple[tuple[Strategy, ...], ...] = ((), ("LessThanOrEqualToFinalShare",))


@dataclass
class Told:
    """A job as its own cluster last reported it, or a copy."""

    seen: JobObserved
    stream: Bus


@dataclass
class World:
    """A hub that is decided one way, and all that was folded, as it is recorded."""

    seed: int
    way: Way
    hub: Hub = field(default_factory=Hub)
    journal: list[bytes] = field(default_factory=list)
    jobs: dict[str, Told] = field(default_factory=dict)  # by uid with its cluster
    copies: dict[str, Told] = field(default_factory=dict)  # the same
    due: list[Order] = field(default_factory=list)  # ordered, and not done yet
    version: int = 100

    def __post_init__(self) -> None:
        """Draw queues and flavors."""
        self.rng = Random(f"{self.seed}/placed")
        self.hub.open(replace(POLICY, fair_sharing=self.rng.choice(STRATEGIES)))
        self.queues = [f"q{number}" for number in range(self.rng.randint(2, 4))]
        for name, clusters in FLAVORS.items():
            spec = FlavorSpec(clusters=clusters)
            self.tell(self.hub.bus, flavor(name, version=self.next(), spec=spec))
        for name in self.queues:
            self.define(name)
        for name in MEMBERS:
            self.accept(name, "true")

    def next(self) -> int:
        self.version += 1
        return self.version

    def tell(self, stream: Bus, *actual_observations: observations.Observation) -> None:
        """Let a stream say something."""
        self.journal += map(encode, stream.tell(*actual_observations))

    def define(self, name: str) -> None:
        """Draw a ClusterQueue and its LocalQueue."""
        quotas = {
            each: Quota(nominal=self.rng.choice((0, 1_000, 2_000, 3_000)))
            for each in self.rng.sample(list(FLAVORS), self.rng.randint(1, 4))
        }
        preemption = Preemption(
            within_cluster_queue=self.rng.choice(("LowerPriority", "LowerOrNewerEqualPriority")),
            reclaim_within_cohort=self.rng.choice(("Any", "Any", "LowerPriority")),
        )
        spec = of_cpu(quotas, cohort="pool", preemption=preemption)
        common: dict[str, Any] = {"uid": name, "version": self.next(), "session": "a"}
        places = self.rng.random() < 0.8
        leads = LocalQueueSpec(cluster_queue=name, placement="any" if places else "stay")
        self.tell(
            self.hub.bus,
            observations.ClusterQueueObserved(name=name, spec=spec, **common),
            observations.LocalQueueObserved(namespace="team", name=name, spec=leads, **common),
        )

    def accept(self, cluster: str, text: str) -> None:
        """Let a member's namespace say whether it takes copies."""
        space = observations.NamespaceObserved(
            name="team",
            uid="ns",
            version=self.next(),
            session="a",
            labels={ACCEPTS_PLACED: text},
        )
        self.tell(self.hub.members[cluster], space)

    def stream(self, cluster: str) -> Bus:
        return self.hub.members[cluster] if cluster else self.hub.bus

    def submit(self, number: int) -> None:
        """Let a job be made somewhere; most have a body."""
        home, name = self.rng.choice(("", *MEMBERS)), f"j{number}"
        cpu = str(self.rng.choice(CPUS))
        podset = PodSet(
            count=self.rng.choice((1, 2)), containers=(Container(requests={"cpu": cpu}),)
        )
        queue = self.rng.choice(self.queues)
        defined = self.hub.bus.state.objects.local_queues[f"team/{queue}"]
        places = (defined.spec.placement == "any") == (self.rng.random() < 0.95)
        seen = job(
            name,
            version=self.next(),
            queue=queue,
            podsets=(podset,),
            priority_boost=self.rng.choice(BOOSTS),
            body="b" * 64 if places else "",
        )
        uid = f"{seen.uid}{AT}{home}" if home else seen.uid
        self.jobs[uid] = Told(seen, self.stream(home))
        self.tell(self.stream(home), seen)

    def again(self, record: Told, **changes: object) -> None:
        """Let a job or a copy be reported as it is now."""
        record.seen = replace(record.seen, version=self.next(), **changes)
        self.tell(record.stream, record.seen)

    def remove(self, known: dict[str, Told], uid: str) -> None:
        """Let a job or a copy be gone."""
        record = known.pop(uid)
        self.tell(record.stream, gone(record.seen.name, self.next(), uid=record.seen.uid))

    def obey(self, order: Order) -> None:
        """Do what was ordered, as the actuator of its cluster, and let that be observed."""
        match order:
            case CopyOrdered():
                self._copy(order)
            case CopyRemovalOrdered():
                if order.copy.uid in self.copies:
                    self.remove(self.copies, order.copy.uid)
            case StartOrdered() | StopOrdered():
                record = self.copies.get(order.job.uid) or self.jobs.get(order.job.uid)
                if record is not None and not record.seen.finished:
                    starts = isinstance(order, StartOrdered)
                    self.again(record, state=RUNNING if starts else JobState())

    def _copy(self, order: CopyOrdered) -> None:
        cluster, name = order.copy.cluster, order.copy.name
        state, stream = self.hub.bus.state, self.hub.members[cluster]
        there = [text for text, record in self.copies.items() if record.seen.name == name]
        if any(cluster_of(uid) == cluster for uid in there):
            return
        own = state.workloads.get(order.workload)
        if own is not None and own.order is not None and self.rng.random() < 0.1:
            refusal = observations.ActuationReported(
                job=replace(order.copy, cluster=""),
                workload=local_name(order.workload),
                decision=f"{state.ledger_id}/{own.order.seq}",
                reason="NameTaken",
                origin=order.uid,
            )
            self.tell(stream, refusal)
            return
        number, origin = self.next(), self.jobs.get(order.uid)
        seen = replace(
            job(name, uid=f"copy-{number}", version=number),
            copy=CopySeen(origin=order.uid),
            state=JobState(),
            podsets=() if origin is None else origin.seen.podsets,
        )
        self.copies[f"{seen.uid}{AT}{cluster}"] = Told(seen, stream)
        self.tell(stream, seen)

    def decide(self) -> list[DecisionEvent]:
        """Decide this world's way; every stream goes on with the state that it leaves."""
        heard_us = self.hub.bus.state.dedup.members  # a new leader begins with none
        state, decisions = self.way(self.hub.bus.state)
        state.dedup.members = heard_us
        streams: list[Bus | Stream] = [self.hub.bus, *self.hub.members.values()]
        for stream in streams:
            stream.state = state
        self.journal += map(encode, decisions)
        return decisions

    def settle(self) -> None:
        """Decide and obey, some orders later than others, until nothing follows."""
        for _ in range(ROUNDS_MAX):
            decisions = self.decide()
            self.due += (decision for decision in decisions if isinstance(decision, Order))
            if not decisions and not self.due:
                return
            now = [decision for decision in self.due if self.rng.random() < 0.7]
            self.due = [decision for decision in self.due if decision not in now]
            for order in now:
                self.obey(order)
        raise AssertionError("it never settles")

    def step(self, number: int) -> None:
        """Let something happen, and time pass."""
        for index in range(self.rng.randint(2, 6)):
            self.submit(10 * number + index)
        running = [uid for uid, record in self.copies.items() if record.seen.state.active]
        for uid in self.rng.sample(running, self.rng.randint(0, min(1, len(running)))):
            self.again(self.copies[uid], finished="Succeeded", state=JobState())
        if self.jobs and self.rng.random() < 0.3:
            self.remove(self.jobs, self.rng.choice(list(self.jobs)))
        if self.rng.random() < 0.2:
            self.accept(self.rng.choice(MEMBERS), self.rng.choice(("true", "false", "true")))
        if self.rng.random() < 0.2:
            self.define(self.rng.choice(self.queues))
        heard = [name for name in MEMBERS if self.rng.random() < 0.85]
        self.journal += map(encode, self.hub.pass_time(self.rng.choice((1, 5, 40)), *heard))
        self._show_ends()

    def _show_ends(self) -> None:
        for copy in list(self.copies.values()):
            origin = self.jobs.get(copy.seen.copy.origin if copy.seen.copy else "")
            if copy.seen.finished and origin is not None and not origin.seen.finished:
                self.again(origin, finished="Succeeded")


def journal(seed: int, way: Way) -> list[bytes]:
    """Play a scenario drawn from a seed; return all that was folded, as it is recorded."""
    world = World(seed, way)
    for number in range(world.rng.randint(*STEPS)):
        world.step(number)
        world.settle()
    return world.journal


def main(arguments: Sequence[str]) -> int:
    """Judge seeds one after another; return 1 if decisions differ anywhere."""
    return judge(arguments, "tests.core.placed_judge", __doc__, journal)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
