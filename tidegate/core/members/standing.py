"""The state of member clusters, and the clusters in which a ResourceFlavor exists."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.core.state.state import State, Workload
from tidegate.model.clusters import AT, NAMESPACES, cluster_of, local, strictest
from tidegate.model.quota import FlavorSpec, StopPolicy

REPLACED = "Replaced"
"""Another cluster observes under a member's name: its observations are ignored."""


def key_of(cluster: str) -> str:
    """Return the key of a member cluster among the remote clusters of a state and of facts."""
    return AT + cluster


def expected_of(state: State, cluster: str) -> tuple[str, ...]:
    """Return the resources that a cluster has to list first; empty: not known yet."""
    return tuple(name for name in state.expected or () if cluster_of(name) == cluster)


def is_listed(state: State, cluster: str) -> bool:
    """Tell whether a cluster completed a first round of each resource of jobs that it watches."""
    names = expected_of(state, cluster)
    expected = [name for name in names if local(name) != NAMESPACES]
    rounds = (state.rounds.get(resource) for resource in expected)
    return bool(expected) and all(each is not None and each.completed for each in rounds)


def is_open(state: State, cluster: str) -> bool:
    """Tell whether a cluster is listed and not silent: workloads may start and stop there."""
    if not cluster:
        return True
    remote = state.remote_clusters.get(key_of(cluster))
    named = cluster in state.policy.member_clusters
    return named and remote is not None and remote.connected and is_listed(state, cluster)


def is_silent(state: State, workload: Workload) -> bool:
    """Tell whether a workload's cluster is silent: the workload keeps its quota and its run."""
    cluster = place_of(workload)
    return bool(cluster) and not is_open(state, cluster)


def place_of(workload: Workload) -> str:
    """Return the member cluster in which a workload runs, or would; empty: the ledger's own."""
    return workload.cluster or cluster_of(workload.key)


def is_replaced(state: State, cluster: str) -> bool:
    """Tell whether another cluster observes under a member's name."""
    remote = state.remote_clusters.get(key_of(cluster))
    return remote is not None and remote.reason == REPLACED


def closed(state: State, workload: Workload) -> str:
    """Return why no workload is admitted in a workload's cluster; empty: the cluster is open."""
    cluster = cluster_of(workload.key)
    if not cluster or is_open(state, cluster):
        return ""
    if cluster not in state.policy.member_clusters:
        return f"{cluster} is not among the member clusters"
    if is_replaced(state, cluster):
        return f"cluster {cluster} is replaced by another of its name"
    return f"cluster {cluster} is silent"


def exists(state: State, workload: Workload, spec: FlavorSpec, cluster: str = "") -> bool:
    """Tell whether a flavor exists in a workload's cluster, or where its copy runs."""
    name = cluster or cluster_of(workload.key) or state.cluster
    return name in (spec.clusters or (state.cluster,))


def elsewhere(state: State, workload: Workload, spec: FlavorSpec) -> str:
    """Return why a flavor cannot take a workload of its cluster; empty: it can."""
    cluster = cluster_of(workload.key)
    if not cluster and not spec.clusters:
        return ""
    name = cluster or state.cluster
    if not exists(state, workload, spec):
        return f"it does not exist in cluster {name}"
    if cluster and spec.topology:
        return f"its topology is that of cluster {state.cluster}"
    stop_policy = spec.held.get(name, "None")
    return f"it is stopped in cluster {name}" if stop_policy != "None" else ""


def unanswered(state: State, workload: Workload) -> str:
    """Return an admission check that a workload needs and no controller can answer; empty: none.

    Controllers answer only on Workloads of the ledger's own cluster. A placed job may run in any
    member.
    """
    cluster, queue = cluster_of(workload.key), state.objects.cluster_queues
    defined = queue.get(workload.cluster_queue)
    if not (cluster or workload.body) or defined is None:
        return ""
    flavors, anywhere = state.objects.flavors, bool(workload.body)
    own = {
        name
        for name, flavor in flavors.items()
        if cluster in flavor.spec.clusters or (anywhere and flavor.spec.clusters)
    }
    for rule in defined.spec.checks:
        if not rule.on_flavors or not own.isdisjoint(rule.on_flavors):
            return rule.name
    return ""


def drained(state: State, workload: Workload) -> bool:
    """Tell whether a workload has a flavor that is drained in its cluster, which is not silent."""
    name = place_of(workload) or state.cluster
    flavors = state.objects.flavors
    return any(
        (defined := flavors.get(flavor)) is not None
        and defined.spec.held.get(name) == "HoldAndDrain"
        for assignment in workload.assignment
        for flavor in assignment.flavors.values()
    ) and is_open(state, place_of(workload))


def stop_policy(state: State, cluster: str) -> StopPolicy:
    """Return a cluster's stop policy: the strictest of the flavors that exist there."""
    return strictest([spec.held.get(cluster, "None") for spec in _flavors(state, cluster)])


def _flavors(state: State, cluster: str) -> Iterator[FlavorSpec]:
    for defined in state.objects.flavors.values():
        if cluster in defined.spec.clusters:
            yield defined.spec
