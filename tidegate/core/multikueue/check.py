"""The clusters that an admission check of MultiKueue may use, and whether it is active.

Source: multikueue.md 1.3.
"""

from __future__ import annotations

from tidegate.contracts.fact_kinds.definitions import CheckDefined
from tidegate.core.state.state import State
from tidegate.model.multikueue import CheckActivity, activity, config_of


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
    configs, clusters = state.objects.multikueue_configs, state.objects.multikueue_clusters
    allowed = {name: config.clusters for name, config in configs.items()}
    usable = [name for name in clusters if is_connected(state, name)]
    return activity(check.parameters, allowed, clusters, usable)
