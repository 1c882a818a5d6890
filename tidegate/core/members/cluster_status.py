"""The state of member clusters: which are listed, heard of and open, and where flavors exist.

Each sends a heartbeat a second; without any, a member falls silent. The uid of the Namespace
kube-system, at the beginning of each list, identifies a member's cluster.

The ledger's time follows its own cluster's heartbeats: a member's heartbeats only keep the member
from falling silent. So a member can neither move the clock nor make another's deadlines due.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.fact_kinds.clusters import RemoteClusterChanged
from tidegate.contracts.facts import FactEvent, GapObserved, WatchesExpected
from tidegate.contracts.observations import Heartbeat, Observation, SyncCompleted, SyncStarted
from tidegate.core.state.state import State, Workload
from tidegate.model.clusters import AT, NAMESPACES, cluster_of, local_name, strictest_policy
from tidegate.model.quota import FlavorSpec, StopPolicy

REPLACED = "Replaced"
"""Another cluster observes under a member's name: its observations are ignored."""
SILENT_US = 30_000_000
"""How long a member cluster may send no heartbeat before it is silent, in microseconds."""
SILENT = "Silent"


def member_key(cluster: str) -> str:
    """Return the key of a member cluster among the remote clusters of a state and of facts."""
    return AT + cluster


def _expected_resources(state: State, cluster: str) -> tuple[str, ...]:
    """Return the resources that a cluster has to list first; empty: not known yet."""
    return tuple(name for name in state.expected or () if cluster_of(name) == cluster)


def is_listed(state: State, cluster: str) -> bool:
    """Tell whether a cluster completed a first round of each resource of jobs that it watches."""
    names = _expected_resources(state, cluster)
    expected = [name for name in names if local_name(name) != NAMESPACES]
    rounds = (state.rounds.get(resource) for resource in expected)
    return bool(expected) and all(each is not None and each.completed for each in rounds)


def is_open(state: State, cluster: str) -> bool:
    """Tell whether a cluster is listed and not silent: workloads may start and stop there."""
    if not cluster:
        return True
    remote = state.remote_clusters.get(member_key(cluster))
    is_member = cluster in state.policy.member_clusters
    return is_member and remote is not None and remote.connected and is_listed(state, cluster)


def is_cluster_silent(state: State, workload: Workload) -> bool:
    """Tell whether a workload's cluster is silent: the workload keeps its quota and its run."""
    cluster = execution_cluster(workload)
    return bool(cluster) and not is_open(state, cluster)


def execution_cluster(workload: Workload) -> str:
    """Return the member cluster in which a workload runs, or would; empty: the ledger's own."""
    return workload.cluster or cluster_of(workload.key)


def is_cluster_replaced(state: State, cluster: str) -> bool:
    """Tell whether another cluster observes under a member's name."""
    remote = state.remote_clusters.get(member_key(cluster))
    return remote is not None and remote.reason == REPLACED


def closed_reason(state: State, workload: Workload) -> str:
    """Return why no workload is admitted in a workload's cluster; empty: the cluster is open."""
    cluster = cluster_of(workload.key)
    if not cluster or is_open(state, cluster):
        return ""
    if cluster not in state.policy.member_clusters:
        return f"{cluster} is not among the member clusters"
    if is_cluster_replaced(state, cluster):
        return f"cluster {cluster} is replaced by another of its name"
    return f"cluster {cluster} is silent"


def is_flavor_present(
    state: State, workload: Workload, spec: FlavorSpec, cluster: str = ""
) -> bool:
    """Tell whether a flavor exists in a workload's cluster, or where its copy runs."""
    name = cluster or cluster_of(workload.key) or state.cluster
    return name in (spec.clusters or (state.cluster,))


def flavor_refusal(state: State, workload: Workload, spec: FlavorSpec) -> str:
    """Return why a flavor cannot take a workload of its cluster; empty: it can."""
    cluster = cluster_of(workload.key)
    if not cluster and not spec.clusters:
        return ""
    name = cluster or state.cluster
    if not is_flavor_present(state, workload, spec):
        return f"it does not exist in cluster {name}"
    if cluster and spec.topology:
        return f"its topology is that of cluster {state.cluster}"
    stop_policy = spec.stop_policies.get(name, "None")
    return f"it is stopped in cluster {name}" if stop_policy != "None" else ""


def unanswerable_check(state: State, workload: Workload) -> str:
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


def has_drained_flavor(state: State, workload: Workload) -> bool:
    """Tell whether a workload has a flavor that is drained in its cluster, which is not silent."""
    name = execution_cluster(workload) or state.cluster
    flavors = state.objects.flavors
    return any(
        (defined := flavors.get(flavor)) is not None
        and defined.spec.stop_policies.get(name) == "HoldAndDrain"
        for assignment in workload.assignment
        for flavor in assignment.flavors.values()
    ) and is_open(state, execution_cluster(workload))


def strictest_stop_policy(state: State, cluster: str) -> StopPolicy:
    """Return a cluster's stop policy: the strictest of the flavors that exist there."""
    return strictest_policy(
        [spec.stop_policies.get(cluster, "None") for spec in _flavors_in(state, cluster)]
    )


def _flavors_in(state: State, cluster: str) -> Iterator[FlavorSpec]:
    for defined in state.objects.flavors.values():
        if cluster in defined.spec.clusters:
            yield defined.spec


def accept_member_heartbeat(state: State, at_us: int, heartbeat: Heartbeat) -> Iterator[FactEvent]:
    """Yield the facts of a member's heartbeat, each to be folded before the next is taken."""
    cluster = cluster_of(heartbeat.session)
    state.dedup.members[cluster] = at_us
    if state.expected is None or cluster not in state.policy.member_clusters:
        return
    if heartbeat.resources and set(heartbeat.resources) != set(_expected_resources(state, cluster)):
        others = (name for name in state.expected if cluster_of(name) != cluster)
        resources = tuple(sorted({*others, *heartbeat.resources}))
        yield WatchesExpected(at_us=at_us, resources=resources)
    remote = state.remote_clusters.get(member_key(cluster))
    if (remote is None or not remote.connected) and is_listed(state, cluster):
        yield _connected_fact(state, at_us, cluster)


def check_cluster_uid(state: State, at_us: int, observation: Observation) -> Iterator[FactEvent]:
    """Yield whether a member's list comes from the member's cluster, by the uid at its beginning.

    A member has one uid for as long as the policy names it, from its first list on. Observations of
    another cluster under its name are ignored: that cluster's list would release the quota of jobs
    that still run in the first.
    """
    if not isinstance(observation, SyncStarted):
        return
    cluster = cluster_of(observation.resource)
    bound, remote = state.member_uids.get(cluster), state.remote_clusters.get(member_key(cluster))
    uid = observation.cluster_uid or ("" if is_cluster_replaced(state, cluster) else bound)
    if not uid or cluster not in state.policy.member_clusters:
        return
    first = bound or state.dedup.member_uids.get(cluster) or uid  # listed, but not connected yet
    if uid != first:
        text = f"The cluster {uid} observes in the place of {first}"
        if remote is None or remote.message != text:
            yield _disconnected_fact(at_us, cluster, REPLACED, text, "" if bound else first)
        return
    state.dedup.member_uids[cluster] = uid
    if is_cluster_replaced(state, cluster):
        yield _disconnected_fact(at_us, cluster, SILENT, "Its own cluster observes again")
    elif bound is None and remote is not None and remote.connected:
        yield _connected_fact(state, at_us, cluster)


def unrecorded_uid(state: State, bracket: SyncStarted) -> str:
    """Return the uid to which a list binds its member, if no event has recorded one; empty: none.

    It is recorded with the list's beginning: a scheduler that dies loses the memory beside the
    ledger, and by then the member may be known.
    """
    cluster = cluster_of(bracket.resource)
    is_unrecorded = cluster in state.policy.member_clusters and cluster not in state.member_uids
    return bracket.cluster_uid if is_unrecorded else ""


def forget_former_uids(state: State) -> None:
    """Forget the uids of clusters that are no members, or no longer: see ``check_cluster_uid``."""
    dedup, members = state.dedup, state.policy.member_clusters
    dedup.member_uids = {name: uid for name, uid in dedup.member_uids.items() if name in members}


def is_unverified(state: State, cluster: str, observation: Observation) -> bool:
    """Tell whether an observation may be another cluster's, because no list has begun yet.

    Under a new ledger id the observing cluster is not known; the first messages may be the middle
    of another cluster's list.
    """
    if isinstance(observation, SyncStarted | SyncCompleted | Heartbeat):
        return False
    bound = state.member_uids.get(cluster)
    if bound is None or state.dedup.member_uids.get(cluster) == bound:
        return False
    return not is_listed(state, cluster)


def report_dropped_observation(
    state: State, at_us: int, cluster: str, seq: int
) -> Iterator[GapObserved]:
    """Yield, once until a list begins, that an observation was dropped: a resync repeats it."""
    if cluster not in state.dedup.member_uids:
        state.dedup.member_uids[cluster] = ""
        yield GapObserved(at_us=at_us, expected_seq=seq, found_seq=seq, cluster=cluster)


def _connected_fact(state: State, at_us: int, cluster: str) -> RemoteClusterChanged:
    uid = "" if cluster in state.member_uids else state.dedup.member_uids.get(cluster, "")
    return RemoteClusterChanged(
        at_us=at_us, cluster=member_key(cluster), connected=True, cluster_uid=uid
    )


def _disconnected_fact(
    at_us: int, cluster: str, reason: str, message: str, uid: str = ""
) -> RemoteClusterChanged:
    return RemoteClusterChanged(
        at_us=at_us,
        cluster=member_key(cluster),
        connected=False,
        reason=reason,
        message=message,
        cluster_uid=uid,
    )


def detect_silent_members(state: State, at_us: int) -> Iterator[RemoteClusterChanged]:
    """Yield that member clusters are silent that have sent no heartbeat for ``SILENT_US``."""
    for cluster in state.policy.member_clusters:
        heard_us = state.dedup.members.setdefault(cluster, at_us)
        remote = state.remote_clusters.get(member_key(cluster))
        if at_us - heard_us <= SILENT_US or (remote is not None and not remote.connected):
            continue
        text = f"Nothing has been heard of it for {SILENT_US // 1_000_000} s"
        yield _disconnected_fact(at_us, cluster, SILENT, text)
