"""The admission check of MultiKueue: the clusters that it may use, and whether it is active.

Source: multikueue.md 1.3.
"""

from __future__ import annotations

from tidegate.contracts.fact_kinds.definitions import CheckDefined
from tidegate.core.state.state import State
from tidegate.model.multikueue import CONTROLLER, CheckActivity, activity, config_of


def check_of(state: State, cluster_queue: str) -> str:
    """Return the name of a ClusterQueue's check of MultiKueue; empty: it has none."""
    defined = state.objects.charged_queue(cluster_queue)
    if defined is None or state.policy.multikueue is None:
        return ""
    check_defineds = state.objects.checks
    names = (rule.name for rule in defined.spec.checks if rule.name in check_defineds)
    return next((name for name in names if check_defineds[name].controller == CONTROLLER), "")


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


def is_open(state: State, cluster: str) -> bool:
    """Tell whether a cluster may get new copies: its stop policy is neither Hold nor Drain."""
    defined = state.objects.multikueue_clusters.get(cluster)
    return defined is None or defined.stop_policy == "None"


def is_drained(state: State, cluster: str) -> bool:
    """Tell whether a cluster is drained: it is to run no workloads any more."""
    defined = state.objects.multikueue_clusters.get(cluster)
    return defined is not None and defined.stop_policy == "HoldAndDrain"


def check_activity(state: State, check: CheckDefined) -> CheckActivity:
    """Return the content of the condition Active of a check of MultiKueue."""
    configs = state.objects.multikueue_configs
    clusters = {
        name: multi_kueue_config_defined.clusters
        for name, multi_kueue_config_defined in configs.items()
    }
    multi_kueue_cluster_defineds = state.objects.multikueue_clusters
    usable = [name for name in multi_kueue_cluster_defineds if is_connected(state, name)]
    return activity(check.parameters, clusters, multi_kueue_cluster_defineds, usable)
