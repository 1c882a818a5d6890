"""The cluster that users have: cohorts of cohorts, three resources, three flavors, limits, weights.

An organisation is a root cohort of 20 ClusterQueues in four departments. Processors and memory come
on demand or from spot nodes, accelerators from a flavor of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from bench.virtual.loads import NAMESPACE, NEVER_US, RECLAIMING
from tidegate.contracts import facts
from tidegate.contracts.facts import FactEvent
from tidegate.core.decide import VERSION
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import LabelSelector
from tidegate.model.policy import DEFAULT_STRATEGIES, Policy
from tidegate.model.quota import (
    WEIGHT_ONE,
    ClusterQueueSpec,
    CohortSpec,
    FlavorQuotas,
    FlavorSpec,
    LocalQueueSpec,
    Quota,
    ResourceGroup,
)

ORGANISATION_QUEUES, DEPARTMENT_QUEUES = 20, 5
GPU = "nvidia.com/gpu"
ON_DEMAND_CPU, SPOT_CPU, GPUS = 40, 20, 4
GIB = 1 << 30
MEMORY_PER_CPU = 4 * GIB
WEIGHTS = (1, 1, 2, 4)
STRATEGIES: tuple[Literal["BestEffortFIFO", "StrictFIFO"], ...] = (
    "BestEffortFIFO",
    "BestEffortFIFO",
    "BestEffortFIFO",
    "StrictFIFO",
)
FLAVORS = ("on-demand", "spot", "a100")


def beginning(queues: int, mode: str, *, fair: bool) -> Iterator[FactEvent]:
    """Yield the configuration, and the cluster's objects: LocalQueue ``lq-N`` to queue ``cq-N``."""
    policy = Policy(
        compatibility="kueue" if mode == "kueue" else "tidegate",
        fair_sharing=DEFAULT_STRATEGIES if fair else (),
        repair_after_us=NEVER_US,
        rules=VERSION,
    )
    yield facts.LedgerOpened(at_us=0, ledger_id="bench")
    yield facts.WatchesExpected(at_us=0, resources=())
    yield facts.PolicyConfigured(at_us=0, name="policy", policy=policy)
    yield facts.NamespaceDefined(at_us=0, name=NAMESPACE)
    for name in FLAVORS:
        yield facts.FlavorDefined(at_us=0, name=name, spec=FlavorSpec())
    yield from _cohorts(queues)
    for index in range(queues):
        yield from _queue(index)


def job_ref(name: str) -> ObjectRef:
    """Return the reference to a Job of the benchmark's namespace; its uid is its name."""
    return ObjectRef(kind="batch/job", namespace=NAMESPACE, name=name, uid=name)


def _cohorts(queues: int) -> Iterator[FactEvent]:
    for organisation in range(-(-queues // ORGANISATION_QUEUES)):
        root = f"org-{organisation}"
        yield facts.CohortDefined(at_us=0, name=root, spec=CohortSpec())
        for index in range(ORGANISATION_QUEUES // DEPARTMENT_QUEUES):
            spec = CohortSpec(parent=root, weight=WEIGHTS[index % 2] * WEIGHT_ONE)
            yield facts.CohortDefined(at_us=0, name=f"{root}-{index}", spec=spec)


def _queue(index: int) -> Iterator[FactEvent]:
    department = index % ORGANISATION_QUEUES // DEPARTMENT_QUEUES
    spec = ClusterQueueSpec(
        cohort=f"org-{index // ORGANISATION_QUEUES}-{department}",
        groups=tuple(_groups(index)),
        namespace_selector=LabelSelector(),
        preemption=RECLAIMING,
        strategy=STRATEGIES[index % len(STRATEGIES)],
        weight=WEIGHTS[index % len(WEIGHTS)] * WEIGHT_ONE,
    )
    yield facts.ClusterQueueDefined(at_us=0, name=f"cq-{index}", spec=spec)
    leads = LocalQueueSpec(cluster_queue=f"cq-{index}")
    yield facts.LocalQueueDefined(at_us=0, name=f"lq-{index}", namespace=NAMESPACE, spec=leads)


def _groups(index: int) -> Iterator[ResourceGroup]:
    """Yield two resource groups; a third of the queues may not lend all, a third not borrow it."""
    lends, borrows = index % 3 == 0, index % 3 == 1
    pools = (("on-demand", ON_DEMAND_CPU), ("spot", SPOT_CPU))
    machines = tuple(
        FlavorQuotas(
            flavor=flavor,
            quotas={
                "cpu": _quota(cpu * 1_000, lends=lends, borrows=borrows),
                "memory": _quota(cpu * MEMORY_PER_CPU, lends=lends, borrows=borrows),
            },
        )
        for flavor, cpu in pools
    )
    yield ResourceGroup(resources=("cpu", "memory"), flavors=machines)
    gpus = FlavorQuotas(flavor="a100", quotas={GPU: _quota(GPUS, lends=lends, borrows=borrows)})
    yield ResourceGroup(resources=(GPU,), flavors=(gpus,))


def _quota(nominal: int, *, lends: bool, borrows: bool) -> Quota:
    """Return a quota of which a half is kept, or to which as much again may be borrowed."""
    return Quota(
        nominal=nominal,
        lending_limit=nominal // 2 if lends else None,
        borrowing_limit=nominal if borrows else None,
    )
