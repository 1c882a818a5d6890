"""The observations of the sample's morning: two teams, their quota, and six jobs.

team-a runs ``train`` and borrows for ``sweep``; team-b's ``urgent`` reclaims what was lent, so
``sweep`` is preempted and waits until ``train`` is done. ``huge`` is larger than all quota there
is, the quota of team-b is lowered, and jobs submitted later borrow again.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec.structs import replace

from tidegate.contracts import observations
from tidegate.jobs.job_metadata import workload_key
from tidegate.model.podset import Container, LabelSelector, PodSet
from tidegate.model.quota import (
    ClusterQueueSpec,
    CohortSpec,
    FlavorQuotas,
    FlavorSpec,
    LocalQueueSpec,
    Preemption,
    Price,
    Quota,
    ResourceGroup,
)

START_US = 1_772_438_400_000_000  # 2026-03-02T08:00:00Z
MINUTE_US = 60_000_000
DAY_US = 24 * 60 * MINUTE_US
SESSION = "ingest-1"
GI = 1 << 30
Observations: TypeAlias = tuple[observations.Observation, ...]
Definition: TypeAlias = (
    observations.NamespaceObserved
    | observations.FlavorObserved
    | observations.CohortObserved
    | observations.WorkloadPriorityClassObserved
    | observations.ClusterQueueObserved
    | observations.LocalQueueObserved
)


def _queue(name: str, cores: int, author: str) -> observations.ClusterQueueObserved:
    quotas = {"cpu": Quota(nominal=cores * 1_000), "memory": Quota(nominal=cores * 2 * GI)}
    flavor = FlavorQuotas(flavor="on-demand", quotas=quotas)
    spec = ClusterQueueSpec(
        cohort="research",
        groups=(ResourceGroup(resources=("cpu", "memory"), flavors=(flavor,)),),
        namespace_selector=LabelSelector(),
        preemption=Preemption(reclaim_within_cohort="Any", within_cluster_queue="LowerPriority"),
    )
    return observations.ClusterQueueObserved(
        name=name, uid=f"uid-{name}", version=0, session=SESSION, spec=spec, author=author
    )


def _local_queue(namespace: str, cluster_queue: str) -> observations.LocalQueueObserved:
    return observations.LocalQueueObserved(
        namespace=namespace,
        name="main",
        uid=f"uid-main-{namespace}",
        version=0,
        session=SESSION,
        spec=LocalQueueSpec(cluster_queue=cluster_queue),
    )


def _namespace(name: str) -> observations.NamespaceObserved:
    return observations.NamespaceObserved(name=name, uid=f"uid-{name}", version=0, session=SESSION)


def _job(
    minute: int, name: str, pods: int, author: str, priority_class: str = ""
) -> observations.JobObserved:
    """Return a job "<namespace>/<name>" of so many pods of 2 cores and 4 gibibytes."""
    namespace, _, name = name.partition("/")
    uid = f"uid-{namespace}-{name}"
    return observations.JobObserved(
        namespace=namespace,
        name=name,
        uid=uid,
        version=0,
        session=SESSION,
        kind="batch/job",
        workload=workload_key("Job", "batch", namespace, name, uid),
        queue="main",
        priority_class=priority_class,
        created_us=START_US + minute * MINUTE_US,
        podsets=(PodSet(count=pods, containers=(Container(requests=_POD),)),),
        author=author,
    )


def _finished(job: observations.JobObserved) -> observations.JobObserved:
    return replace(job, finished="Succeeded")


_POD = {"cpu": "2", "memory": "4Gi"}
_TRAIN = _job(5, "a/train", 4, "ann")
_SWEEP = _job(10, "a/sweep", 2, "bob")
_TUNE = _job(120, "a/tune", 3, "ann")
_URGENT = _job(40, "b/urgent", 4, "cy", "urgent")

LISTED: dict[str, tuple[Definition, ...]] = {
    "namespaces": (_namespace("a"), _namespace("b")),
    "resourceflavors.kueue.x-k8s.io": (
        observations.FlavorObserved(
            name="on-demand",
            uid="uid-on-demand",
            version=0,
            session=SESSION,
            spec=FlavorSpec(),
            author="kim",
            prices=(Price(resource="cpu", cost="0.04", currency="EUR"),),
        ),
    ),
    "cohorts.kueue.x-k8s.io": (
        observations.CohortObserved(
            name="research", uid="uid-research", version=0, session=SESSION, spec=CohortSpec()
        ),
    ),
    "workloadpriorityclasses.kueue.x-k8s.io": (
        observations.WorkloadPriorityClassObserved(
            name="urgent", uid="uid-urgent", version=0, session=SESSION, value=1_000
        ),
    ),
    "clusterqueues.kueue.x-k8s.io": (_queue("team-a", 8, "kim"), _queue("team-b", 8, "kim")),
    "localqueues.kueue.x-k8s.io": (_local_queue("a", "team-a"), _local_queue("b", "team-b")),
    "jobs.batch": (),
}
"""The observations of the first list of each resource."""

STORY: tuple[tuple[int, Observations], ...] = (
    (5, (_TRAIN,)),
    (10, (_SWEEP,)),
    (40, (_URGENT,)),
    (55, (_job(55, "a/huge", 40, "ann"),)),
    (75, (_finished(_TRAIN),)),
    (90, (_queue("team-b", 6, "lee"),)),
    (110, (_finished(_URGENT),)),
    (115, (_job(115, "b/report", 1, "cy"),)),
    (120, (_TUNE,)),
    (130, ()),
)
"""What is observed beside what follows from decisions: minutes after the beginning."""
LAST: Observations = (_finished(_TUNE),)
"""What is observed on the day until which a longer sample goes on."""
