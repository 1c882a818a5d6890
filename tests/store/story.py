"""A short history with everything that the reports tell of, as one turn's events after the other.

Two teams share a cohort. team-a borrows, is preempted when team-b reclaims, and waits again; a
job's pods finish one by one; an administrator lowers a quota; one job never fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tidegate.contracts import decisions, facts
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSet, PodSetAssignment
from tidegate.model.quota import (
    ClusterQueueSpec,
    CohortSpec,
    FlavorQuotas,
    LocalQueueSpec,
    Quota,
    ResourceGroup,
)

Turn: TypeAlias = Sequence[facts.FactEvent | decisions.DecisionEvent]
START_US = 1_772_348_400_000_000  # 2026-03-01T07:00:00Z
MINUTE_US = 60_000_000
GI = 1 << 30


def minute(count: float) -> int:
    """Return a time so many minutes after the story's beginning."""
    return START_US + round(count * MINUTE_US)


def cluster_queue(
    at: float, name: str, cpu: int, author: str, *, lend: int | None = None
) -> facts.ClusterQueueDefined:
    """Return a ClusterQueue with so many cores and twice as many gibibytes, in one cohort."""
    quotas = {
        "cpu": Quota(nominal=cpu * 1_000, lending_limit=lend and lend * 1_000),
        "memory": Quota(nominal=cpu * 2 * GI, borrowing_limit=8 * GI),
    }
    flavor = FlavorQuotas(flavor="on-demand", quotas=quotas)
    group = ResourceGroup(resources=("cpu", "memory"), flavors=(flavor,))
    spec = ClusterQueueSpec(cohort="research", groups=(group,), strategy="StrictFIFO")
    return facts.ClusterQueueDefined(at_us=minute(at), name=name, spec=spec, author=author)


def submitted(
    at: float, workload: str, pods: int, *, author: str = "", priority_class: str = ""
) -> facts.WorkloadSubmitted:
    """Return the submission of a job to the LocalQueue "main" of its namespace."""
    namespace, _, name = workload.partition("/")
    job = ObjectRef(kind="batch/job", namespace=namespace, name=name.removeprefix("job-"))
    return facts.WorkloadSubmitted(
        at_us=minute(at),
        workload=workload,
        uid=f"uid-{name}",
        job=job,
        queue="main",
        created_us=minute(at),
        podsets=(PodSet(count=pods),),
        author=author,
        priority_class=priority_class,
    )


def assignment(pods: int, cpu: int = 2) -> tuple[PodSetAssignment, ...]:
    """Return pods of so many cores and twice as many gibibytes each."""
    usage = {"cpu": pods * cpu * 1_000, "memory": pods * cpu * 2 * GI}
    flavors = dict.fromkeys(usage, "on-demand")
    return (PodSetAssignment(name="main", count=pods, flavors=flavors, usage=usage),)


def admitted(at: float, workload: str, queue: str, pods: int) -> Turn:
    """Return an admission."""
    us = minute(at)
    return [
        decisions.QuotaReserved(
            at_us=us, workload=workload, cluster_queue=queue, assignment=assignment(pods)
        ),
        decisions.WorkloadAdmitted(at_us=us, workload=workload, cluster_queue=queue, queue="main"),
    ]


def preempted(at: float, victim: str, by: str) -> Turn:
    """Return how a workload of team-b makes one of team-a leave."""
    us, leaving = minute(at), decisions.Victim(workload=victim, reason="InCohortReclamation")
    return [
        decisions.PreemptionIntended(
            at_us=us, workload=by, cluster_queue="team-b", victims=(leaving,)
        ),
        decisions.WorkloadPreempted(
            at_us=us,
            workload=victim,
            cluster_queue="team-a",
            by=by,
            by_cluster_queue="team-b",
            reason="InCohortReclamation",
        ),
        decisions.WorkloadEvicted(
            at_us=us, workload=victim, cluster_queue="team-a", reason="Preempted"
        ),
    ]


def held(at: float, workload: str, queue: str, reason: decisions.PendingReason) -> Turn:
    """Return that a workload was tried and waits."""
    return [
        decisions.WorkloadPending(
            at_us=minute(at),
            workload=workload,
            cluster_queue=queue,
            reason=reason,
            message=f"It waits: {reason}.",
        )
    ]


STORY: tuple[Turn, ...] = (
    [
        facts.LedgerOpened(at_us=minute(0), ledger_id="story", cluster="local"),
        cluster_queue(0, "team-a", 8, "kim"),
        cluster_queue(0, "team-b", 8, "kim", lend=6),
        cluster_queue(0, "team-c", 4, ""),
        facts.CohortDefined(at_us=minute(0), name="research", spec=CohortSpec(), author="kim"),
        facts.LocalQueueDefined(
            at_us=minute(0),
            name="main",
            namespace="a",
            spec=LocalQueueSpec(cluster_queue="team-a"),
        ),
        facts.LocalQueueDefined(
            at_us=minute(0),
            name="main",
            namespace="b",
            spec=LocalQueueSpec(cluster_queue="team-b"),
        ),
        facts.WorkloadPriorityClassDefined(at_us=minute(0), name="high", value=1_000),
    ],
    [submitted(1, "a/job-one", 4, author="ann"), *admitted(1, "a/job-one", "team-a", 4)],
    [submitted(2, "a/job-two", 2, author="bob"), *admitted(2, "a/job-two", "team-a", 2)],
    [
        submitted(50, "b/job-three", 4, author="cy", priority_class="high"),
        *preempted(50, "a/job-two", "b/job-three"),
        *held(50, "b/job-three", "team-b", "WaitingForPreemptedWorkloads"),
    ],
    [
        facts.WorkloadStopped(at_us=minute(50.5), workload="a/job-two"),
        decisions.QuotaReleased(at_us=minute(50.5), workload="a/job-two", cluster_queue="team-a"),
        decisions.WorkloadRequeued(
            at_us=minute(50.5), workload="a/job-two", cluster_queue="team-a", reason="Preempted"
        ),
        *admitted(50.5, "b/job-three", "team-b", 4),
        *held(50.5, "a/job-two", "team-a", "WaitingForQuota"),
    ],
    [facts.PodsReclaimed(at_us=minute(70), workload="b/job-three", reclaimable={"main": 1})],
    [
        cluster_queue(80, "team-b", 6, "lee", lend=6),
        facts.WorkloadFinished(at_us=minute(80), workload="a/job-one"),
        *admitted(80, "a/job-two", "team-a", 2),
    ],
    [facts.WorkloadRemoved(at_us=minute(90), workload="a/job-one")],
    [
        submitted(100, "a/job-huge", 40, author="ann"),
        *held(100, "a/job-huge", "team-a", "ExceedsMaxQuota"),
        submitted(100, "b/job-next", 1, author="cy"),
    ],
    [submitted(125, "a/job-wide", 3, author="ann"), *admitted(125, "a/job-wide", "team-a", 3)],
    [facts.TimePassed(at_us=minute(130))],
)
