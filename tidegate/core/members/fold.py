"""Folds that a member cluster sends heartbeats, or falls silent."""

from __future__ import annotations

from tidegate.contracts.fact_kinds.clusters import ClusterFact, RemoteClusterChanged
from tidegate.contracts.fact_kinds.definitions import FlavorDefined, Named
from tidegate.core.folding.definitions import to_queue
from tidegate.core.members.copies import look_again
from tidegate.core.members.standing import REPLACED, key_of
from tidegate.core.multikueue import fold as multikueue
from tidegate.core.state.remotes import RemoteCluster
from tidegate.core.state.state import State
from tidegate.model.clusters import AT, cluster_of


def apply_worker(state: State, event: ClusterFact) -> None:
    """Fold a fact about a member cluster, or about MultiKueue's worker clusters."""
    if isinstance(event, RemoteClusterChanged) and event.cluster.startswith(AT):
        _apply_member(state, event)
    else:
        multikueue.apply_worker(state, event)


def _apply_member(state: State, event: RemoteClusterChanged) -> None:
    """Fold that a member sends heartbeats, or falls silent; requeue its pending workloads."""
    before = state.remote_clusters.get(event.cluster)
    lost_us = 0 if before is None else before.lost_us
    state.remote_clusters[event.cluster] = RemoteCluster(
        connected=event.connected,
        reason=event.reason,
        message=event.message,
        lost_us=0 if event.connected else lost_us or event.at_us,
    )
    multikueue.look_again(state)
    cluster = cluster_of(event.cluster)
    if event.cluster_uid:
        state.member_uids[cluster] = event.cluster_uid
    for workload in state.workloads.values():
        if cluster_of(workload.key) != cluster:
            continue
        state.forest.to_reconcile[workload.key] = None
        if workload.phase == "pending":
            to_queue(state, workload, workload.cluster_queue)
    look_again(state)


def release_names(state: State) -> None:
    """Forget the uids of clusters that are no members any more: others may get their names."""
    named = state.policy.member_clusters
    for cluster in [name for name in state.member_uids if name not in named]:
        del state.member_uids[cluster]
        remote = state.remote_clusters.get(key_of(cluster))
        if remote is not None and remote.reason == REPLACED:
            del state.remote_clusters[key_of(cluster)]


def follow_flavor(state: State, event: Named) -> None:
    """Reconcile workloads on a flavor that is now drained in some cluster."""
    if not isinstance(event, FlavorDefined) or "HoldAndDrain" not in event.spec.held.values():
        return
    for workload in state.workloads.values():
        if any(event.name in assignment.flavors.values() for assignment in workload.assignment):
            state.forest.to_reconcile[workload.key] = None
