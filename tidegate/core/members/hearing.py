"""Whether member clusters are heard of: a heartbeat each second, and silence after a while.

Which cluster a member is says the uid of its Namespace kube-system, at the beginning of each list.

The ledger's time is that of its own cluster's heartbeats: a member's keep the member from being
silent, and nothing else. So a member can neither move the clock nor let another's deadlines pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.fact_kinds.clusters import RemoteClusterChanged
from tidegate.contracts.facts import FactEvent, GapObserved, WatchesExpected
from tidegate.contracts.observations import Heartbeat, Observation, SyncCompleted, SyncStarted
from tidegate.core.members.standing import (
    REPLACED,
    expected_of,
    is_listed,
    is_replaced,
    key_of,
)
from tidegate.core.state.state import State
from tidegate.model.clusters import cluster_of

SILENT_US = 30_000_000
"""How long nothing is heard of a member cluster before it is silent."""
SILENT = "Silent"


def hear_member(state: State, at_us: int, beat: Heartbeat) -> Iterator[FactEvent]:
    """Yield what a member cluster's heartbeat says, to be folded before the next is requested."""
    cluster = cluster_of(beat.session)
    state.dedup.members[cluster] = at_us
    if state.expected is None or cluster not in state.policy.member_clusters:
        return
    if beat.resources and set(beat.resources) != set(expected_of(state, cluster)):
        others = (name for name in state.expected if cluster_of(name) != cluster)
        resources = tuple(sorted({*others, *beat.resources}))
        yield WatchesExpected(at_us=at_us, resources=resources)
    remote = state.remote_clusters.get(key_of(cluster))
    if (remote is None or not remote.connected) and is_listed(state, cluster):
        yield _heard(state, at_us, cluster)


def identify(state: State, at_us: int, observation: Observation) -> Iterator[FactEvent]:
    """Yield what the uid that a member's list begins with says of which cluster it is.

    A member has one uid for as long as it is listed, from its first list on. Of another cluster
    under its name nothing is taken in: that cluster's list would release quota of what still runs
    in the first.
    """
    if not isinstance(observation, SyncStarted):
        return
    cluster = cluster_of(observation.resource)
    bound, remote = state.member_uids.get(cluster), state.remote_clusters.get(key_of(cluster))
    uid = observation.cluster_uid or ("" if is_replaced(state, cluster) else bound)
    if not uid or cluster not in state.policy.member_clusters:
        return
    first = bound or state.dedup.member_uids.get(cluster) or uid  # listed, and not yet heard of
    if uid != first:
        text = f"The cluster {uid} observes in the place of {first}"
        if remote is None or remote.message != text:
            yield _lost(at_us, cluster, REPLACED, text, "" if bound else first)
        return
    state.dedup.member_uids[cluster] = uid
    if is_replaced(state, cluster):
        yield _lost(at_us, cluster, SILENT, "Its own cluster observes again")
    elif bound is None and remote is not None and remote.connected:
        yield _heard(state, at_us, cluster)


def unbound(state: State, bracket: SyncStarted) -> str:
    """Return the uid that a list binds its member to, which no event has told yet; empty: none.

    It stands in the ledger with the list's beginning: what is remembered beside it a scheduler
    that dies forgets, and by then the member may be known.
    """
    cluster = cluster_of(bracket.resource)
    named = cluster in state.policy.member_clusters and cluster not in state.member_uids
    return bracket.cluster_uid if named else ""


def forget_names(state: State) -> None:
    """Forget which clusters began to list that are no members, or no more: see ``identify``."""
    dedup, named = state.dedup, state.policy.member_clusters
    dedup.member_uids = {name: uid for name, uid in dedup.member_uids.items() if name in named}


def is_doubted(state: State, cluster: str, observation: Observation) -> bool:
    """Tell whether what is said of an object may be another cluster's: no list has begun yet.

    Under a new name of the ledger nothing is known of who observes; what it reads first may be the
    middle of another cluster's list.
    """
    if isinstance(observation, SyncStarted | SyncCompleted | Heartbeat):
        return False
    bound = state.member_uids.get(cluster)
    if bound is None or state.dedup.member_uids.get(cluster) == bound:
        return False
    return not is_listed(state, cluster)


def doubt(state: State, at_us: int, cluster: str, seq: int) -> Iterator[GapObserved]:
    """Yield, once until a list begins, that something is not taken in: a resync tells it again."""
    if cluster not in state.dedup.member_uids:
        state.dedup.member_uids[cluster] = ""
        yield GapObserved(at_us=at_us, expected_seq=seq, found_seq=seq, cluster=cluster)


def _heard(state: State, at_us: int, cluster: str) -> RemoteClusterChanged:
    uid = "" if cluster in state.member_uids else state.dedup.member_uids.get(cluster, "")
    return RemoteClusterChanged(
        at_us=at_us, cluster=key_of(cluster), connected=True, cluster_uid=uid
    )


def _lost(
    at_us: int, cluster: str, reason: str, message: str, uid: str = ""
) -> RemoteClusterChanged:
    return RemoteClusterChanged(
        at_us=at_us,
        cluster=key_of(cluster),
        connected=False,
        reason=reason,
        message=message,
        cluster_uid=uid,
    )


def fall_silent(state: State, at_us: int) -> Iterator[RemoteClusterChanged]:
    """Yield which member clusters have not been heard of for too long."""
    for cluster in state.policy.member_clusters:
        heard_us = state.dedup.members.setdefault(cluster, at_us)
        remote = state.remote_clusters.get(key_of(cluster))
        if at_us - heard_us <= SILENT_US or (remote is not None and not remote.connected):
            continue
        text = f"Nothing has been heard of it for {SILENT_US // 1_000_000} s"
        yield _lost(at_us, cluster, SILENT, text)
