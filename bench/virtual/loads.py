"""The loads that are measured: quotas, and which workload requests how much when.

Quotas: every ClusterQueue has 20 CPU and may borrow 100. In flat cohorts it reclaims what is lent
and preempts lower priorities of its own; in deep trees nothing is preempted, which is the default.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from operator import attrgetter

from tidegate.contracts import facts
from tidegate.contracts.facts import FactEvent
from tidegate.core.decide import VERSION
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, LabelSelector, PodSet
from tidegate.model.policy import DEFAULT_STRATEGIES, Policy
from tidegate.model.quota import (
    WEIGHT_ONE,
    ClusterQueueSpec,
    CohortSpec,
    FlavorQuotas,
    FlavorSpec,
    LocalQueueSpec,
    Preemption,
    Quota,
    ResourceGroup,
)

NAMESPACE = "bench"
QUOTA_CPU = 20
BORROWING_CPU = 100
STAGGER_US = 7_000
NEVER_US = 10**18
RECLAIMING = Preemption(within_cluster_queue="LowerPriority", reclaim_within_cohort="Any")
MS = 1_000


@dataclass(frozen=True)
class Kind:
    """Workloads of one size: how many a queue gets, how often, and how long each runs."""

    name: str
    cpu: int
    priority: int
    count: int
    every_us: int
    run_us: int


@dataclass(frozen=True, slots=True)
class Arrival:
    """One workload that comes to be."""

    at_us: int
    name: str
    queue: int
    cpu: int
    priority: int
    run_us: int


@dataclass(frozen=True)
class Load:
    """Queues in flat cohorts, and what each of them gets."""

    name: str
    cohorts: int
    queues_each: int
    kinds: tuple[Kind, ...]

    @property
    def queues(self) -> int:
        """Return how many ClusterQueues there are."""
        return self.cohorts * self.queues_each

    @property
    def count(self) -> int:
        """Return how many workloads arrive."""
        return self.queues * sum(kind.count for kind in self.kinds)

    @property
    def work_cpu_us(self) -> int:
        """Return the CPU time that all workloads need, in CPU-microseconds."""
        return self.queues * sum(kind.count * kind.cpu * kind.run_us for kind in self.kinds)

    def arrivals(self, *, staggered: bool) -> Iterator[Arrival]:
        """Yield all workloads by time; staggered: queue i begins 7 ms times i later."""
        starts = [STAGGER_US * index if staggered else 0 for index in range(self.queues)]
        streams = [
            _stream(kind, queue, start) for queue, start in enumerate(starts) for kind in self.kinds
        ]
        return merge(*streams, key=attrgetter("at_us"))


BASELINE = Load(
    "baseline",
    cohorts=5,
    queues_each=6,
    kinds=(
        Kind("small", 1, 50, count=350, every_us=100 * MS, run_us=200 * MS),
        Kind("medium", 5, 100, count=100, every_us=500 * MS, run_us=500 * MS),
        Kind("large", 20, 200, count=50, every_us=1_200 * MS, run_us=1_000 * MS),
    ),
)
LARGE = Load(
    "large",
    cohorts=10,
    queues_each=100,
    kinds=(
        Kind("small", 1, 50, count=35, every_us=60 * MS, run_us=150 * MS),
        Kind("medium", 5, 100, count=11, every_us=300 * MS, run_us=350 * MS),
        Kind("large", 20, 200, count=4, every_us=700 * MS, run_us=700 * MS),
    ),
)


def beginning(mode: str, *, fair: bool) -> list[FactEvent]:
    """Return what every measured ledger begins with: the configuration, a flavor, a namespace."""
    policy = Policy(
        compatibility="kueue" if mode == "kueue" else "tidegate",
        fair_sharing=DEFAULT_STRATEGIES if fair else (),
        repair_after_us=NEVER_US,
        rules=VERSION,
    )
    return [
        facts.LedgerOpened(at_us=0, ledger_id="bench"),
        facts.WatchesExpected(at_us=0, resources=()),
        facts.PolicyConfigured(at_us=0, name="policy", policy=policy),
        facts.FlavorDefined(at_us=0, name="default", spec=FlavorSpec()),
        facts.NamespaceDefined(at_us=0, name=NAMESPACE),
    ]


def flat_queues(cohorts: int, queues_each: int) -> Iterator[FactEvent]:
    """Yield cohorts without quota of their own, and the queues in them."""
    for index in range(cohorts * queues_each):
        yield from queue(index, cohort=f"cohort-{index // queues_each}")


def tree_queues(queues: int, trees: int, depth: int, branching: int) -> Iterator[FactEvent]:
    """Yield trees of cohorts with the queues as their lowest level, spread evenly.

    ``depth`` counts the queues' level. Weights are 1, 2 and 4 in turn, on all levels.
    """
    bottom: list[str] = []
    for tree in range(trees):
        level = [f"tree-{tree}"]
        yield _cohort(level[0], "", 0)
        for _ in range(depth - 2):
            below = [f"{parent}-{child}" for parent in level for child in range(branching)]
            for index, name in enumerate(below):
                yield _cohort(name, name.rpartition("-")[0], index)
            level = below
        bottom += level
    for index in range(queues):
        place = index * len(bottom) // queues
        yield from queue(
            index, cohort=bottom[place], weight=_weight(index), preemption=Preemption()
        )


def queue(
    index: int, *, cohort: str, weight: int = WEIGHT_ONE, preemption: Preemption = RECLAIMING
) -> Iterator[FactEvent]:
    """Yield one ClusterQueue and the LocalQueue that leads to it."""
    quota = Quota(nominal=QUOTA_CPU * 1_000, borrowing_limit=BORROWING_CPU * 1_000)
    flavors = (FlavorQuotas(flavor="default", quotas={"cpu": quota}),)
    spec = ClusterQueueSpec(
        cohort=cohort,
        groups=(ResourceGroup(resources=("cpu",), flavors=flavors),),
        namespace_selector=LabelSelector(),
        preemption=preemption,
        weight=weight,
    )
    yield facts.ClusterQueueDefined(at_us=0, name=f"queue-{index}", spec=spec)
    leads = LocalQueueSpec(cluster_queue=f"queue-{index}")
    yield facts.LocalQueueDefined(at_us=0, name=f"lq-{index}", namespace=NAMESPACE, spec=leads)


def submitted(arrival: Arrival) -> facts.WorkloadSubmitted:
    """Return the fact of a workload that comes to be."""
    return facts.WorkloadSubmitted(
        at_us=arrival.at_us,
        workload=f"{NAMESPACE}/{arrival.name}",
        uid=arrival.name,
        job=ObjectRef(kind="batch/job", namespace=NAMESPACE, name=arrival.name, uid=arrival.name),
        queue=f"lq-{arrival.queue}",
        priority=arrival.priority,
        created_us=arrival.at_us,
        podsets=(PodSet(containers=(Container(requests={"cpu": str(arrival.cpu)}),)),),
    )


def _cohort(name: str, parent: str, index: int) -> facts.CohortDefined:
    spec = CohortSpec(parent=parent, weight=_weight(index))
    return facts.CohortDefined(at_us=0, name=name, spec=spec)


def _weight(index: int) -> int:
    return (1, 2, 4)[index % 3] * WEIGHT_ONE


def _stream(kind: Kind, queue: int, start_us: int) -> Iterator[Arrival]:
    for number in range(kind.count):
        yield Arrival(
            at_us=start_us + number * kind.every_us,
            name=f"{kind.name}-{queue:04}-{number:04}",
            queue=queue,
            cpu=kind.cpu,
            priority=kind.priority,
            run_us=kind.run_us,
        )
