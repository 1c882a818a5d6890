"""A busy cluster at random: facts by a seed, decided by the core, sealed turn by turn."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tidegate.contracts import decisions, facts
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.entry import Entry
from tidegate.contracts.observations import JobState
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, LabelSelector, PodSet
from tidegate.model.quota import (
    ClusterQueueSpec,
    FlavorQuotas,
    FlavorSpec,
    LocalQueueSpec,
    Preemption,
    Quota,
    ResourceGroup,
)

QUEUES = ("red", "green", "blue")
START_US = 1_772_348_400_000_000
MINUTE_US = 60_000_000
CLASSES = {"low": -10, "high": 10}


def cluster_queue(at_us: int, name: str, cores: int) -> facts.ClusterQueueDefined:
    """Return a ClusterQueue of one cohort that allows every preemption."""
    quotas = {"cpu": Quota(nominal=cores * 1_000), "memory": Quota(nominal=cores << 30)}
    flavors = (FlavorQuotas(flavor="default", quotas=quotas),)
    group = ResourceGroup(resources=("cpu", "memory"), flavors=flavors)
    preemption = Preemption(reclaim_within_cohort="Any", within_cluster_queue="LowerPriority")
    spec = ClusterQueueSpec(
        cohort="all",
        groups=(group,),
        preemption=preemption,
        namespace_selector=LabelSelector(),
    )
    return facts.ClusterQueueDefined(at_us=at_us, name=name, spec=spec, author=f"set-{cores}")


class Busy:
    """The cluster: what it was told so far is in ``state``."""

    def __init__(self, seed: int) -> None:
        self.state, self._random = State(), Random(seed)
        self._head, self._now_us, self._made = GENESIS, START_US, 0
        self._due = list[facts.FactEvent]()

    def open(self) -> list[Entry]:
        """Define the queues."""
        at_us = self._now_us
        events: list[facts.FactEvent] = [
            facts.LedgerOpened(at_us=at_us, ledger_id="busy"),
            facts.WatchesExpected(at_us=at_us, resources=()),
            facts.FlavorDefined(at_us=at_us, name="default", spec=FlavorSpec()),
            *(cluster_queue(at_us, name, 8) for name in QUEUES),
        ]
        for name in QUEUES:
            events.append(facts.NamespaceDefined(at_us=at_us, name=name))
            spec = LocalQueueSpec(cluster_queue=name)
            events.append(
                facts.LocalQueueDefined(at_us=at_us, name="main", namespace=name, spec=spec)
            )
        for name, value in CLASSES.items():
            events.append(facts.WorkloadPriorityClassDefined(at_us=at_us, name=name, value=value))
        return self.turn(events)

    def turns(self, count: int) -> Iterator[list[Entry]]:
        """Yield so many turns of whatever comes to pass."""
        for _ in range(count):
            self._now_us += self._random.choice([0, 1_000_000, MINUTE_US, 40 * MINUTE_US])
            events, self._due = self._due, []
            for _ in range(self._random.randrange(1, 4)):
                events += self._something()
            yield self.turn(events)

    def turn(self, events: list[facts.FactEvent]) -> list[Entry]:
        """Fold facts, decide, seal; what was ordered is done in the next turn."""
        for fact in events:
            apply(self.state, fact)
        decided = decide(self.state)
        for event in decided:
            self._obey(event)
        entries = seal(self._head, 1, "local", [*events, *decided])
        self._head = entries[-1] if entries else self._head
        return entries

    def _something(self) -> list[facts.FactEvent]:
        return self._random.choice(
            [self._submit, self._submit, self._finish, self._remove, self._change, self._reclaim]
        )()

    def _submit(self) -> list[facts.FactEvent]:
        self._made += 1
        queue, pods = self._random.choice(QUEUES), self._random.randrange(1, 6)
        asked = Container(requests={"cpu": "1", "memory": "512Mi"})
        return [
            facts.WorkloadSubmitted(
                at_us=self._now_us,
                workload=f"{queue}/job-{self._made}",
                uid=f"uid-{self._made}",
                job=ObjectRef(kind="batch/job", namespace=queue, name=f"{self._made}"),
                queue="main",
                priority_class=self._random.choice(["", "low", "high"]),
                created_us=self._now_us,
                podsets=(PodSet(count=pods, containers=(asked,)),),
                author=self._random.choice(["ann", "bob"]),
            )
        ]

    def _finish(self) -> list[facts.FactEvent]:
        key = self._pick("admitted")
        return [facts.WorkloadFinished(at_us=self._now_us, workload=key)] if key else []

    def _remove(self) -> list[facts.FactEvent]:
        key = self._pick(self._random.choice(["pending", "admitted", "finished"]))
        return [facts.WorkloadRemoved(at_us=self._now_us, workload=key)] if key else []

    def _change(self) -> list[facts.FactEvent]:
        if self._random.random() < 0.5:
            name, value = self._random.choice([*CLASSES]), self._random.randrange(-20, 20)
            return [facts.WorkloadPriorityClassDefined(at_us=self._now_us, name=name, value=value)]
        queue, cores = self._random.choice(QUEUES), self._random.randrange(4, 12)
        return [cluster_queue(self._now_us, queue, cores)]

    def _reclaim(self) -> list[facts.FactEvent]:
        key = self._pick("admitted")
        done = {"main": self._random.randrange(1, 3)}
        return (
            [facts.PodsReclaimed(at_us=self._now_us, workload=key, reclaimable=done)] if key else []
        )

    def _pick(self, phase: str) -> str:
        known = [key for key, workload in self.state.workloads.items() if workload.phase == phase]
        return self._random.choice(known) if known else ""

    def _obey(self, event: decisions.DecisionEvent) -> None:
        if isinstance(event, decisions.StartOrdered):
            running = JobState(suspended=False, started=True, active=1)
            self._due.append(
                facts.JobStateReported(
                    at_us=self._now_us, workload=event.workload, uid=event.uid, state=running
                )
            )
        elif isinstance(event, decisions.StopOrdered):
            self._due.append(
                facts.WorkloadStopped(at_us=self._now_us, workload=event.workload, uid=event.uid)
            )
