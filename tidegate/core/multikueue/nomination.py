"""Which worker clusters a MultiKueue check may use, and which may have a copy of a workload.

All are nominated at once, or some each round. An object whose groups are a workload each goes to
one cluster. One of these workloads searches it: the first with quota, until a cluster is chosen.
The others follow it there. While one of them is still being stopped the others wait, so that all
parts of the object are gone before it is sent again.

Source: multikueue.md 1.3, 2.4, 2.7.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decisions import (
    QuotaReleased,
    WorkloadDeactivated,
    WorkloadDecision,
    WorkloadEvicted,
)
from tidegate.contracts.fact_kinds.definitions import CheckDefined
from tidegate.contracts.facts import WorkloadFact, WorkloadFinished, WorkloadSubmitted
from tidegate.core.state.remotes import Dispatch
from tidegate.core.state.state import State, Workload
from tidegate.model.gates import gate_enabled
from tidegate.model.multikueue import (
    ADAPTERS,
    ROUND_US,
    CheckActivity,
    MultiKueuePolicy,
    activity_of_parameters,
    config_of,
)
from tidegate.model.texts import parse_whole

GROUPED_KINDS = frozenset(kind for kind, adapter in ADAPTERS.items() if adapter.together)
"""Kinds of jobs of which an object has several, that go to one cluster."""
_HELD = ("reserved", "admitted")


def allowed_clusters(
    state: State,
    dispatch: Dispatch,
    configured: tuple[str, ...],
    group_clusters: tuple[str, ...] | None,
) -> tuple[str, ...]:
    """Return the clusters of a check's configuration that may be nominated at all.

    Stopped clusters may not. An external dispatcher allows only those that it wrote into the
    status, in its order. A workload that is one group of an object may go to ``group_clusters``.
    """
    names = dispatch.proposed if is_external(state) else configured
    names = names if group_clusters is None else group_clusters
    return tuple(
        cluster for cluster in names if cluster in configured and may_get_copies(state, cluster)
    )


def is_external(state: State) -> bool:
    """Tell whether an external dispatcher writes the nominations."""
    policy = state.policy.multikueue
    return policy is not None and policy.dispatcher == "External"


def nominated_clusters(
    state: State, dispatch: Dispatch, allowed: tuple[str, ...]
) -> tuple[str, ...]:
    """Return all clusters that may have a copy by now, of those that the check may use.

    A cluster is not nominated again while an older copy there is being withdrawn.
    """
    policy = state.policy.multikueue or MultiKueuePolicy()
    if policy.dispatcher == "AllAtOnce":
        nominated = {cluster for cluster in allowed if is_connected(state, cluster)} | {
            *dispatch.nominated
        }
        return tuple(sorted(nominated - {*dispatch.leaving}))
    if policy.dispatcher == "External":
        return tuple(cluster for cluster in allowed if cluster not in dispatch.leaving)
    candidates = [
        cluster
        for cluster in allowed
        if cluster not in dispatch.nominated and cluster not in dispatch.leaving
    ]
    if not gate_enabled(state.policy, "MultiKueueIncrementalDispatcherRespectConfigOrder"):
        candidates = sorted(candidates)
    is_round_open = dispatch.nominated and state.now_us < dispatch.round_us + ROUND_US
    return (
        dispatch.nominated
        if is_round_open or not candidates
        else (*dispatch.nominated, *candidates[: policy.step])
    )


def index_group(state: State, workload: Workload) -> None:
    """Index a workload as a group of its object."""
    part = _group_of(workload)
    if part is not None:
        uid, index = part
        state.groups_by_object.setdefault(uid, {})[index] = workload.key


def unindex_group(state: State, workload: Workload) -> None:
    """Remove a deleted workload from the index; reconcile its object's others, which may wait."""
    part = _group_of(workload)
    if part is not None:
        uid, index = part
        reconcile_groups(state, workload)
        parts = state.groups_by_object.get(uid, {})
        if parts.get(index) == workload.key:
            del parts[index]
        if not parts:
            state.groups_by_object.pop(uid, None)


def update_groups(state: State, workload: Workload, event: WorkloadDecision | WorkloadFact) -> None:
    """Index a new workload; reconcile the object's others after one that left its cluster."""
    match event:
        case WorkloadSubmitted():
            index_group(state, workload)
        case WorkloadFinished() | WorkloadEvicted() | QuotaReleased() | WorkloadDeactivated():
            reconcile_groups(state, workload)
        case _:
            pass


def reconcile_groups(state: State, workload: Workload) -> None:
    """Reconcile the object's other workloads that search a cluster: see ``clusters_for_group``."""
    for _, other in _other_groups(state, workload):
        if other.phase in _HELD and not _chosen_cluster(other):
            state.forest.to_reconcile[other.key] = None


def reconcile_followers(state: State, workload: Workload) -> None:
    """Let the object's other workloads follow one to its cluster, unless they do already."""
    cluster = _chosen_cluster(workload)
    others = (other for _, other in _other_groups(state, workload))
    if not any(cluster == _chosen_cluster(other) and _stays_in_cluster(other) for other in others):
        reconcile_groups(state, workload)


def clusters_for_group(state: State, workload: Workload) -> tuple[str, ...] | None:
    """Return the clusters that an object's other workloads allow for one of them; None: any."""
    part = _group_of(workload)
    if part is None:
        return None
    own_order, is_stopping, is_led = _search_order(part[1], workload), False, False
    for index, other in _other_groups(state, workload):
        cluster = _chosen_cluster(other)
        if cluster and _stays_in_cluster(other):
            return (cluster,)
        is_stopping = is_stopping or bool(cluster)
        searches = other.phase == "reserved" and other.active
        is_led = is_led or (searches and _search_order(index, other) < own_order)
    return () if is_stopping or is_led else None


def _search_order(index: int, workload: Workload) -> tuple[bool, int]:
    """Return the order among an object's workloads: the lowest searches the cluster for all."""
    return workload.dispatch is None or not workload.dispatch.nominated, index


def _chosen_cluster(workload: Workload) -> str:
    return "" if workload.dispatch is None else workload.dispatch.chosen


def _stays_in_cluster(workload: Workload) -> bool:
    """Tell whether a workload stays in its cluster."""
    dispatch = workload.dispatch
    return workload.phase in _HELD and dispatch is not None and not dispatch.stopping_us


def _other_groups(state: State, workload: Workload) -> Iterator[tuple[int, Workload]]:
    """Yield an object's other workloads, each with its group's index, in order."""
    part = _group_of(workload)
    if part is None:
        return
    for index, key in sorted(state.groups_by_object.get(part[0], {}).items()):
        other = state.workloads.get(key)
        if other is not None and other is not workload:
            yield index, other


def _group_of(workload: Workload) -> tuple[str, int] | None:
    """Return the uid of a workload's object and its group's index; None: it is the whole object."""
    if workload.job.kind not in GROUPED_KINDS:
        return None
    uid, _, text = workload.job.uid.rpartition(".")
    index = parse_whole(text)
    return (uid, index) if uid and index is not None else None


def clusters_of(state: State, check: str) -> tuple[str, ...]:
    """Return the clusters that a check may use, in the order of its configuration."""
    defined = state.objects.checks.get(check)
    name = "" if defined is None else config_of(defined.parameters)
    config = state.objects.multikueue_configs.get(name)
    return () if config is None else config.clusters


def is_connected(state: State, cluster: str) -> bool:
    """Tell whether a worker cluster is connected."""
    remote_cluster = state.remote_clusters.get(cluster)
    return remote_cluster is not None and remote_cluster.connected


def may_get_copies(state: State, cluster: str) -> bool:
    """Tell whether a cluster may get new copies: its stop policy is neither Hold nor Drain."""
    defined = state.objects.multikueue_clusters.get(cluster)
    return defined is None or defined.stop_policy == "None"


def is_drained(state: State, cluster: str) -> bool:
    """Tell whether a cluster is drained: it is to run no workloads any more."""
    defined = state.objects.multikueue_clusters.get(cluster)
    return defined is not None and defined.stop_policy == "HoldAndDrain"


def check_activity(state: State, check: CheckDefined) -> CheckActivity:
    """Return the content of the condition Active of a check of MultiKueue."""
    configs, clusters = state.objects.multikueue_configs, state.objects.multikueue_clusters
    allowed = {name: config.clusters for name, config in configs.items()}
    usable = [name for name in clusters if is_connected(state, name)]
    return activity_of_parameters(check.parameters, allowed, clusters, usable)
