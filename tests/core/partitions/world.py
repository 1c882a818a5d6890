"""A cluster of three cohort trees as ingest tells it, and the partitions that decide about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import cast

from msgspec.structs import replace

from tests.core.queues import of_cpu
from tests.core.telling import JOBS, RUNNING, SECOND, Bus, beat, completed, flavor, job, started
from tidegate.contracts.decisions import DecisionEvent, StartOrdered, StopOrdered
from tidegate.contracts.facts import FactEvent, LedgerOpened
from tidegate.contracts.observations import (
    ClusterQueueObserved,
    CohortObserved,
    JobObserved,
    JobState,
    LocalQueueObserved,
    NamespaceObserved,
    ObjectGone,
    Observation,
)
from tidegate.contracts.observed.jobs import Observed
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.model.podset import Container, PodSet
from tidegate.model.quota import CohortSpec, LocalQueueSpec, Quota

TREES = {"a0": "a", "a1": "a", "b0": "b", "b1": "b", "c": ""}
"""ClusterQueue to its cohort."""
QUEUES = "clusterqueues.kueue.x-k8s.io"
LOCAL_QUEUES = "localqueues.kueue.x-k8s.io"
RESOURCES: dict[str, type[Observed]] = {
    "namespaces": NamespaceObserved,
    "resourceflavors.kueue.x-k8s.io": type(flavor()),
    "cohorts.kueue.x-k8s.io": CohortObserved,
    QUEUES: ClusterQueueObserved,
    LOCAL_QUEUES: LocalQueueObserved,
    JOBS: JobObserved,
}
"""In the order in which they are listed."""


@dataclass
class Partition:
    """One ledger's state over the stream that all read."""

    number: int
    ledger_id: str
    bus: Bus = field(default_factory=Bus)
    events: list[FactEvent | DecisionEvent] = field(default_factory=list)
    decisions: list[DecisionEvent] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)  # of jobs, by uid

    def __post_init__(self) -> None:
        apply(
            self.bus.state,
            LedgerOpened(at_us=0, ledger_id=self.ledger_id, partition=self.number),
        )

    def take(self, at_us: int, observations: Sequence[Observation]) -> list[DecisionEvent]:
        """Run one turn; return what was decided."""
        self.bus.at_us = at_us
        self.events += self.bus.tell(*observations)
        decided = list[DecisionEvent]()
        while news := decide(self.bus.state, decisions_max=1_000):
            decided += news
        first = self.bus.state.seq - len(decided) + 1
        for seq, event in enumerate(decided, first):
            if isinstance(event, StartOrdered | StopOrdered):
                self.marks[event.uid] = f"{self.ledger_id}/{seq}"
        self.events += decided
        self.decisions += decided
        return decided

    def missed(self) -> bool:
        """Return whether a resync is asked for, which it is from now on."""
        missed, self.bus.state.dedup.needs_resync = self.bus.state.dedup.needs_resync, False
        return missed


class World:
    """The objects, and the partitions that are told of each change."""

    def __init__(self, seed: int, partitions: Sequence[Partition], placed: dict[str, int]) -> None:
        """``placed``: cohort tree to partition, as the annotations have it; else 0."""
        self.random, self.partitions = Random(seed), partitions
        self.placed = placed
        self.objects = dict[str, Observed]()  # by uid
        self.version, self.at_us, self.rounds, self.beats = 10, 1_000 * SECOND, 0, 0

    def begin(self) -> None:
        """Define everything and list it."""
        self._put(NamespaceObserved(name="team", uid="ns", version=0, session="a"))
        self._put(flavor("default"))
        for cohort in ("a", "b"):
            self._put(
                CohortObserved(
                    name=cohort,
                    uid=f"cohort-{cohort}",
                    version=0,
                    session="a",
                    spec=CohortSpec(),
                    partition=self.placed.get(cohort, 0),
                )
            )
        for name in TREES:
            self.define(name, self.random.choice((2_000, 4_000)))
            self.lead(name, name)
        self.tell(beat(1, *RESOURCES))
        self.resync()

    def define(self, name: str, nominal: int) -> None:
        """Create or change a ClusterQueue."""
        cohort = TREES[name]
        spec = of_cpu({"default": Quota(nominal=nominal)}, cohort=cohort)
        placed = self.placed.get(cohort or name, 0)
        self._put(
            ClusterQueueObserved(
                name=name, uid=f"cq-{name}", version=0, session="a", spec=spec, partition=placed
            )
        )

    def lead(self, local: str, cluster_queue: str) -> None:
        """Create a LocalQueue, in place of its namesake."""
        for old in [
            observation for observation in self.of(LocalQueueObserved) if observation.name == local
        ]:
            self.remove(old, LOCAL_QUEUES)
        self.version += 1
        self._put(
            LocalQueueObserved(
                namespace="team",
                name=local,
                uid=f"lq-{local}-{self.version}",
                version=0,
                session="a",
                spec=LocalQueueSpec(cluster_queue=cluster_queue),
            )
        )

    def submit(self, name: str, queue: str, cpu: int) -> None:
        """Create a Job."""
        podsets = (PodSet(containers=(Container(requests={"cpu": str(cpu)}),)),)
        self._put(job(name, queue=queue, podsets=podsets, created_us=self.at_us))

    def of(self, kind: type[Observed]) -> list[Observed]:
        """Return the objects of a kind."""
        return [obj for obj in self.objects.values() if type(obj) is kind]

    def jobs(self) -> list[JobObserved]:
        """Return the Jobs that are not over."""
        return [
            observation
            for observation in self.of(JobObserved)
            if isinstance(observation, JobObserved)
        ]

    def change(self, changed: Observed) -> None:
        """Change an object."""
        self._put(changed)

    def remove(self, gone: Observed, resource: str) -> None:
        """Delete an object."""
        self.version += 1
        del self.objects[gone.uid]
        removal = ObjectGone(
            namespace=gone.namespace,
            name=gone.name,
            uid=gone.uid,
            version=self.version,
            session="a",
            resource=resource,
        )
        self.tell(removal)

    def resync(self) -> None:
        """List everything anew."""
        self.rounds += 1
        for resource, kind in RESOURCES.items():
            listed = self.of(kind)
            self.tell_list(resource, listed, *(observation.uid for observation in listed))

    def tell_list(self, resource: str, listed: Sequence[Observed], *present: str) -> None:
        """Tell a list of this round: the objects that it tells, and the uids that it names."""
        self.tell(started(resource, self.rounds))
        for observation in listed:
            self.tell(cast("Observation", replace(observation, round=self.rounds)))
        self.tell(completed(self.version, *present, resource=resource, number=self.rounds))

    def pass_time(self) -> None:
        """Let a second pass; if a partition missed an observation, everything is listed again."""
        self.beats += 1
        self.at_us += SECOND
        self.tell(beat(self.beats + 1, *RESOURCES))
        if sum(partition.missed() for partition in self.partitions):
            self.resync()

    def tell(self, *observations: Observation) -> None:
        """Let every partition run a turn, and the actuators carry out what each decided."""
        self.at_us += 1_000
        for partition in self.partitions:
            self._carry_out(partition.take(self.at_us, observations))

    def _carry_out(self, decided: Sequence[DecisionEvent]) -> None:
        for event in decided:
            if isinstance(event, StartOrdered):
                self._set(event.uid, RUNNING)
            elif isinstance(event, StopOrdered):
                self._set(event.uid, JobState())

    def _set(self, uid: str, state: JobState) -> None:
        standing = self.objects.get(uid)
        if not isinstance(standing, JobObserved):
            return
        marks = [p.marks[uid] for p in self.partitions if uid in p.marks]
        self._put(replace(standing, state=replace(state, decision=marks[-1] if marks else "")))

    def _put(self, obj: Observed) -> None:
        self.version += 1
        now = replace(obj, version=self.version)
        self.objects[now.uid] = now
        self.tell(cast("Observation", now))
