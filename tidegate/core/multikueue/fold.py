"""Folds events about other clusters: members, MultiKueue's workers, and copies in workers."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from tidegate.contracts.decision_kinds.clusters import (
    CheckDecided,
    ClusterChosen,
    ClusterDecision,
    ClustersNominated,
    RemoteDeactivated,
    RemoteWithdrawn,
)
from tidegate.contracts.fact_kinds.clusters import (
    ClusterFact,
    MultiKueueClusterDefined,
    MultiKueueClusterRemoved,
    MultiKueueConfigDefined,
    MultiKueueConfigRemoved,
    NominationReported,
    RemoteClusterChanged,
    RemoteWorkloadRemoved,
    RemoteWorkloadReported,
)
from tidegate.contracts.fact_kinds.definitions import FlavorDefined, Named
from tidegate.core.folding.definitions import requeue_pending
from tidegate.core.members.cluster_status import REPLACED, member_key
from tidegate.core.members.copies import recheck_placed_jobs
from tidegate.core.multikueue.nomination import reconcile_followers, reconcile_groups
from tidegate.core.multikueue.slices import current_slice
from tidegate.core.multikueue.withdrawal import worker_lost_us
from tidegate.core.queueing.heads import enqueue, queue_inadmissible_workloads
from tidegate.core.quota.forest import forest
from tidegate.core.state import deadlines
from tidegate.core.state.remotes import Dispatch, RemoteCluster
from tidegate.core.state.state import CheckState, State, Workload
from tidegate.model.clusters import AT, cluster_of
from tidegate.model.multikueue import CONTROLLER, ROUND_US

FAMILY = "remote"
"""Deadlines of a workload: its next round of nomination, or the end of waiting for its cluster."""


def apply_cluster(state: State, event: ClusterFact) -> None:
    """Fold a fact about a member cluster, or about MultiKueue's worker clusters."""
    if isinstance(event, RemoteClusterChanged) and event.cluster.startswith(AT):
        _apply_member(state, event)
    else:
        _apply_worker(state, event)


def _apply_member(state: State, event: RemoteClusterChanged) -> None:
    """Fold that a member sends heartbeats, or falls silent; requeue its pending workloads."""
    state.remote_clusters[event.cluster] = _cluster_status(state, event)
    _wake_dispatched(state)
    cluster = cluster_of(event.cluster)
    if event.cluster_uid:
        state.member_uids[cluster] = event.cluster_uid
    for workload in state.workloads.values():
        if cluster_of(workload.key) != cluster:
            continue
        state.forest.to_reconcile[workload.key] = None
        if workload.phase == "pending":
            requeue_pending(state, workload, workload.cluster_queue)
    recheck_placed_jobs(state)


def forget_former_members(state: State) -> None:
    """Forget the uids of clusters that are no members any more: others may get their names."""
    members = state.policy.member_clusters
    for cluster in [name for name in state.member_uids if name not in members]:
        del state.member_uids[cluster]
        remote = state.remote_clusters.get(member_key(cluster))
        if remote is not None and remote.reason == REPLACED:
            del state.remote_clusters[member_key(cluster)]


def reconcile_drained_flavor(state: State, event: Named) -> None:
    """Reconcile workloads on a flavor that is now drained in some cluster."""
    if (
        not isinstance(event, FlavorDefined)
        or "HoldAndDrain" not in event.spec.stop_policies.values()
    ):
        return
    for workload in state.workloads.values():
        if any(event.name in assignment.flavors.values() for assignment in workload.assignment):
            state.forest.to_reconcile[workload.key] = None


def _apply_worker(state: State, event: ClusterFact) -> None:
    """Fold a fact about worker clusters; about an unknown workload it changes nothing."""
    objects = state.objects
    match event:
        case MultiKueueClusterDefined():
            objects.multikueue_clusters[event.name] = event
        case MultiKueueClusterRemoved():
            objects.multikueue_clusters.pop(event.name, None)
            _set_cluster_state(
                state, event.name, RemoteCluster(connected=False, lost_us=event.at_us)
            )
        case MultiKueueConfigDefined():
            objects.multikueue_configs[event.name] = event
        case MultiKueueConfigRemoved():
            objects.multikueue_configs.pop(event.name, None)
        case RemoteClusterChanged():
            _fold_connection(state, event)
        case NominationReported():
            _fold_nomination(state, event)
            return
        case RemoteWorkloadReported() | RemoteWorkloadRemoved():
            _fold_remote_copy(state, event)
            return
        case _:
            assert_never(event)
    _wake_dispatched(state)


def _wake_dispatched(state: State) -> None:
    """Wake and reconcile workloads with MultiKueue checks: the usable clusters have changed."""
    state.redefined_seq = state.seq
    state.forest.stale = True
    if not state.workloads:
        return
    for tree in forest(state).trees:
        queue_inadmissible_workloads(state, tree)
    for workload in state.workloads.values():
        if workload.phase == "pending" and CONTROLLER in workload.gates:
            enqueue(state, workload)
        if workload.phase == "reserved" or workload.dispatch is not None:
            state.forest.to_reconcile[workload.key] = None


def apply_dispatch(state: State, event: ClusterDecision) -> None:
    """Fold a decision about a workload's clusters."""
    workload = state.workloads.get(event.workload)
    if workload is None or (event.uid and workload.uid != event.uid):
        return
    if isinstance(event, CheckDecided):
        _fold_check(state, workload, event)
    else:
        if workload.dispatch is None:
            workload.dispatch = Dispatch()
        _fold_dispatch(state, workload, workload.dispatch, event)
        if isinstance(event, ClusterChosen):
            reconcile_followers(state, workload)
        elif isinstance(event, RemoteWithdrawn):
            reconcile_groups(state, workload)
    state.forest.to_reconcile[workload.key] = None


def _fold_dispatch(
    state: State,
    workload: Workload,
    dispatch: Dispatch,
    event: ClustersNominated | ClusterChosen | RemoteWithdrawn | RemoteDeactivated,
) -> None:
    dispatch.again = False
    match event:
        case ClustersNominated():
            dispatch.nominated = event.clusters
            if not event.again:
                dispatch.round_us = event.at_us
            deadlines.set(state, f"{FAMILY}/{workload.key}", dispatch.round_us + ROUND_US)
        case ClusterChosen():
            dispatch.chosen, dispatch.nominated, dispatch.stopping_us = event.cluster, (), 0
            dispatch.replaces = event.replaces
            if not event.again:  # a repetition does not extend the grace of a lost cluster
                _set_grace(state, workload.key, event.cluster)
        case RemoteDeactivated():
            dispatch.stopping_us = dispatch.stopping_us or event.at_us
            deadlines.set(
                state, f"{FAMILY}/{workload.key}", dispatch.stopping_us + worker_lost_us(state)
            )
        case RemoteWithdrawn():
            _fold_withdrawal(state, workload, dispatch, event)
        case _:
            assert_never(event)


def _fold_withdrawal(
    state: State, workload: Workload, dispatch: Dispatch, event: RemoteWithdrawn
) -> None:
    withdrawn = set(event.clusters)
    dispatch.nominated = tuple(
        cluster for cluster in dispatch.nominated if cluster not in withdrawn
    )
    if dispatch.chosen in withdrawn:
        dispatch.chosen = dispatch.replaces = ""
    dispatch.leaving.update(dict.fromkeys(event.clusters))
    dispatch.stopping_us = dispatch.stopping_us if dispatch.chosen else 0
    if not dispatch.nominated and not dispatch.chosen:
        deadlines.clear(state, f"{FAMILY}/{workload.key}")


def _fold_check(state: State, workload: Workload, event: CheckDecided) -> None:
    state_of_check = CheckState(state=event.state, message=event.message, at_us=event.at_us)
    workload.checks = {**workload.checks, event.check: state_of_check}
    if event.state == "Ready":
        _mark_pods_placed(state, workload)
        if workload.dispatch is not None:
            workload.dispatch.ran = True
    else:
        deadlines.clear(state, f"{FAMILY}/{workload.key}")


def _mark_pods_placed(state: State, workload: Workload) -> None:
    """Mark a workload's pods as placed: the worker cluster places them, not this one."""
    workload.assignment = tuple(
        replace(assignment, delayed_topology="Ready") if assignment.delayed_topology else assignment
        for assignment in workload.assignment
    )
    state.forest.topologies.waiting.pop(workload.key, None)


def _fold_nomination(state: State, event: NominationReported) -> None:
    workload = state.workloads.get(event.workload)
    if workload is None or workload.uid != event.uid:
        return
    if workload.dispatch is None:
        workload.dispatch = Dispatch()
    workload.dispatch.proposed = event.clusters
    state.forest.to_reconcile[event.workload] = None


def _fold_remote_copy(state: State, event: RemoteWorkloadReported | RemoteWorkloadRemoved) -> None:
    workload = state.workloads.get(event.workload)
    dispatch = None if workload is None else workload.dispatch
    if dispatch is None:
        return
    match event:
        case RemoteWorkloadReported():
            dispatch.copies[event.cluster] = event.copy
        case RemoteWorkloadRemoved():
            dispatch.copies.pop(event.cluster, None)
            dispatch.leaving.pop(event.cluster, None)
        case _:
            assert_never(event)
    state.forest.to_reconcile[event.workload] = None
    if workload is not None and workload.elastic:  # also the slice that stands for its job
        state.forest.to_reconcile[current_slice(state, workload).key] = None


def _fold_connection(state: State, event: RemoteClusterChanged) -> None:
    before, now = state.remote_clusters.get(event.cluster), _cluster_status(state, event)
    if before is None or before.session != now.session:
        _repeat_decisions(state, event.cluster)
    _set_cluster_state(state, event.cluster, now)


def _cluster_status(state: State, event: RemoteClusterChanged) -> RemoteCluster:
    """Return a cluster's state after an event; since when it does not answer stays the same."""
    before = state.remote_clusters.get(event.cluster)
    lost_us = 0 if before is None else before.lost_us
    return RemoteCluster(
        connected=event.connected,
        session=event.session,
        reason=event.reason,
        message=event.message,
        lost_us=0 if event.connected else lost_us or event.at_us,
    )


def _repeat_decisions(state: State, cluster: str) -> None:
    for workload in state.workloads.values():
        dispatch = workload.dispatch
        if dispatch is not None and cluster in (
            *dispatch.nominated,
            *dispatch.leaving,
            dispatch.chosen,
        ):
            dispatch.again = True


def _set_cluster_state(state: State, cluster: str, now: RemoteCluster) -> None:
    """Set a cluster's state; set the grace of workloads that run there, or clear it."""
    state.remote_clusters[cluster] = now
    for key, workload in state.workloads.items():
        dispatched = workload.dispatch
        if dispatched is None or dispatched.chosen != cluster or dispatched.stopping_us:
            continue
        _set_grace(state, key, cluster)


def _set_grace(state: State, workload: str, cluster: str) -> None:
    """Set the deadline at which a lost cluster is given up; clear it if that is connected.

    A slice may inherit a cluster that is lost already.
    """
    now = state.remote_clusters.get(cluster)
    if now is None or now.connected:
        deadlines.clear(state, f"{FAMILY}/{workload}")
    else:
        deadlines.set(state, f"{FAMILY}/{workload}", now.lost_us + worker_lost_us(state))
