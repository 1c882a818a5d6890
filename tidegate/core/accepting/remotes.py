"""Turns the dispatcher's reports on worker clusters and copies there into facts, if new."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tidegate.contracts.fact_kinds.clusters import (
    NominationReported,
    RemoteClusterChanged,
    RemoteWorkloadRemoved,
    RemoteWorkloadReported,
)
from tidegate.contracts.facts import FactEvent, WorkloadFinished
from tidegate.contracts.observations import JobObserved
from tidegate.contracts.observed.clusters import (
    RemoteClusterObserved,
    RemoteObserved,
    RemoteWorkloadObserved,
)
from tidegate.core.accepting.jobs.check_states import counts
from tidegate.core.state.state import State, Workload
from tidegate.model.multikueue import OUT_OF_SYNC


def take_remote(state: State, at_us: int, observation: RemoteObserved) -> Iterator[FactEvent]:
    """Yield the facts of a dispatcher's report; reports arrive in the order of their sending."""
    match observation:
        case RemoteClusterObserved():
            yield from _cluster(state, at_us, observation)
        case RemoteWorkloadObserved():
            yield from _copy(state, at_us, observation)
        case _:
            assert_never(observation)


def _cluster(state: State, at_us: int, observation: RemoteClusterObserved) -> Iterator[FactEvent]:
    remote_cluster = state.remote_clusters.get(observation.cluster)
    stands = remote_cluster is not None and (
        remote_cluster.connected,
        remote_cluster.session,
        remote_cluster.reason,
    ) == (
        observation.connected,
        observation.session,
        observation.reason,
    )
    if not stands:
        yield RemoteClusterChanged(
            at_us=at_us,
            cluster=observation.cluster,
            connected=observation.connected,
            session=observation.session,
            reason=observation.reason,
            message=observation.message,
        )


def _copy(state: State, at_us: int, observation: RemoteWorkloadObserved) -> Iterator[FactEvent]:
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
    yield from _ended(at_us, observation, workload)


def _ended(
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
            at_us=at_us,
            workload=workload.key,
            uid=workload.uid,
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
    if job.nominated != proposed and not chosen and counts(state, job, workload):
        yield NominationReported(
            at_us=at_us, workload=workload.key, uid=workload.uid, clusters=job.nominated
        )
