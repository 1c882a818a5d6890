"""What others report about admissions: states of checks, nominated clusters, copies in workers.

A check's state counts if it was written after the newest eviction or release: the actuator then
resets every check to Pending, and writes the decision into the Workload with it. So a ``Ready``
from before an eviction never admits, however late it is observed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tidegate.contracts.fact_kinds.clusters import (
    NominationReported,
    RemoteClusterChanged,
    RemoteWorkloadRemoved,
    RemoteWorkloadReported,
)
from tidegate.contracts.facts import CheckReported, FactEvent, WorkloadFinished
from tidegate.contracts.observations import CheckSeen, JobObserved
from tidegate.contracts.observed.clusters import (
    RemoteClusterObserved,
    RemoteObserved,
    RemoteWorkloadObserved,
)
from tidegate.core.accepting.jobs.fields import fact_fields
from tidegate.core.queueing.admission_checks import multikueue_check
from tidegate.core.state.desired_state import decision_seq
from tidegate.core.state.state import State, Workload
from tidegate.model.multikueue import OUT_OF_SYNC


def accept_dispatcher_report(
    state: State, at_us: int, observation: RemoteObserved
) -> Iterator[FactEvent]:
    """Yield the facts of a dispatcher's report; reports arrive in the order of their sending."""
    match observation:
        case RemoteClusterObserved():
            yield from _accept_cluster(state, at_us, observation)
        case RemoteWorkloadObserved():
            yield from _accept_remote_copy(state, at_us, observation)
        case _:
            assert_never(observation)


def _accept_cluster(
    state: State, at_us: int, observation: RemoteClusterObserved
) -> Iterator[FactEvent]:
    remote_cluster = state.remote_clusters.get(observation.cluster)
    unchanged = remote_cluster is not None and (
        remote_cluster.connected,
        remote_cluster.session,
        remote_cluster.reason,
    ) == (
        observation.connected,
        observation.session,
        observation.reason,
    )
    if not unchanged:
        yield RemoteClusterChanged(
            at_us=at_us,
            cluster=observation.cluster,
            connected=observation.connected,
            session=observation.session,
            reason=observation.reason,
            message=observation.message,
        )


def _accept_remote_copy(
    state: State, at_us: int, observation: RemoteWorkloadObserved
) -> Iterator[FactEvent]:
    workload = state.workloads.get(observation.workload)
    dispatch = None if workload is None else workload.dispatch
    if workload is None or dispatch is None:
        return  # not sent by a decision: the dispatcher deletes such copies by itself
    before = dispatch.copies.get(observation.cluster)
    if observation.copy is None:
        if before is not None or observation.cluster in dispatch.leaving:
            yield RemoteWorkloadRemoved(
                at_us=at_us, workload=observation.workload, cluster=observation.cluster
            )
        return
    if observation.copy != before:
        yield RemoteWorkloadReported(
            at_us=at_us,
            workload=observation.workload,
            cluster=observation.cluster,
            copy=observation.copy,
            version=observation.version,
        )
    yield from _finish_with_copy(at_us, observation, workload)


def _finish_with_copy(
    at_us: int, observation: RemoteWorkloadObserved, workload: Workload
) -> Iterator[FactEvent]:
    """Yield that a workload finished with its copy, once its job's final status has arrived."""
    copy, dispatch = observation.copy, workload.dispatch
    if (
        copy is None
        or dispatch is None
        or workload.phase not in ("reserved", "admitted", "evicting")
    ):
        return
    if copy.finished_us and copy.synced and copy.reason != OUT_OF_SYNC:
        yield WorkloadFinished(
            **fact_fields(at_us, workload),
            reason=copy.reason,
            message=copy.message,
            version=observation.job_version,
        )


def report_nomination(
    state: State, at_us: int, job: JobObserved, workload: Workload
) -> Iterator[NominationReported]:
    """Yield the clusters that an external dispatcher nominates, if changed in this reservation.

    Source: multikueue.md 2.4.
    """
    policy, dispatch = state.policy.multikueue, workload.dispatch
    if policy is None or policy.dispatcher != "External" or workload.phase != "reserved":
        return
    proposed = () if dispatch is None else dispatch.proposed
    chosen = dispatch is not None and dispatch.chosen
    if job.nominated != proposed and not chosen and _is_current(state, job, workload):
        yield NominationReported(**fact_fields(at_us, workload), clusters=job.nominated)


def report_checks(
    state: State, at_us: int, job: JobObserved, workload: Workload
) -> Iterator[CheckReported]:
    """Yield each check state of a workload that counts and has changed."""
    if not _is_current(state, job, workload):
        return
    own_check = multikueue_check(
        state, workload.cluster_queue
    )  # this check's state is decided here
    for check in job.checks:
        if check.name != own_check and _has_changed(workload, check):
            yield CheckReported(
                **fact_fields(at_us, workload),
                check=check.name,
                state=check.state,
                message=check.message,
                requeue_after_s=check.requeue_after_s,
                updates=check.updates,
            )


def _is_current(state: State, job: JobObserved, workload: Workload) -> bool:
    """Tell whether a Workload's status was written after its checks were reset."""
    if workload.variants:
        return False  # it is the state of a variant that holds quota no more
    if not job.checks_since:
        return workload.checks_seq == 0
    return decision_seq(state, job.checks_since) >= max(workload.checks_seq, 1)


def _has_changed(workload: Workload, check: CheckSeen) -> bool:
    before = workload.checks.get(check.name)
    if before is None:  # Pending shows that the Workload's status lists the check
        return check.state != "Pending" or workload.phase == "reserved"
    before_values = before.state, before.requeue_after_s, before.updates
    return before_values != (check.state, check.requeue_after_s, check.updates)
