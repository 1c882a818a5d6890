"""Heartbeats of member clusters: one each second; without any, a member falls silent.

The uid of the Namespace kube-system, at the beginning of each list, identifies a member's cluster.

The ledger's time follows its own cluster's heartbeats: a member's heartbeats only keep the member
from falling silent. So a member can neither move the clock nor make another's deadlines due.
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
"""How long a member cluster may send no heartbeat before it is silent, in microseconds."""
SILENT = "Silent"


def hear_member(state: State, at_us: int, beat: Heartbeat) -> Iterator[FactEvent]:
    """Yield the facts of a member's heartbeat, each to be folded before the next is taken."""
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
    """Yield whether a member's list comes from the member's cluster, by the uid at its beginning.

    A member has one uid for as long as the policy names it, from its first list on. Observations of
    another cluster under its name are ignored: that cluster's list would release the quota of jobs
    that still run in the first.
    """
    if not isinstance(observation, SyncStarted):
        return
    cluster = cluster_of(observation.resource)
    bound, remote = state.member_uids.get(cluster), state.remote_clusters.get(key_of(cluster))
    uid = observation.cluster_uid or ("" if is_replaced(state, cluster) else bound)
    if not uid or cluster not in state.policy.member_clusters:
        return
    first = bound or state.dedup.member_uids.get(cluster) or uid  # listed, but not connected yet
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
    """Return the uid to which a list binds its member, if no event has recorded one; empty: none.

    It is recorded with the list's beginning: a scheduler that dies loses the memory beside the
    ledger, and by then the member may be known.
    """
    cluster = cluster_of(bracket.resource)
    named = cluster in state.policy.member_clusters and cluster not in state.member_uids
    return bracket.cluster_uid if named else ""


def forget_names(state: State) -> None:
    """Forget the uids of clusters that are no members, or no longer: see ``identify``."""
    dedup, named = state.dedup, state.policy.member_clusters
    dedup.member_uids = {name: uid for name, uid in dedup.member_uids.items() if name in named}


def is_doubted(state: State, cluster: str, observation: Observation) -> bool:
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


def doubt(state: State, at_us: int, cluster: str, seq: int) -> Iterator[GapObserved]:
    """Yield, once until a list begins, that an observation was dropped: a resync repeats it."""
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
    """Yield that member clusters are silent that have sent no heartbeat for ``SILENT_US``."""
    for cluster in state.policy.member_clusters:
        heard_us = state.dedup.members.setdefault(cluster, at_us)
        remote = state.remote_clusters.get(key_of(cluster))
        if at_us - heard_us <= SILENT_US or (remote is not None and not remote.connected):
            continue
        text = f"Nothing has been heard of it for {SILENT_US // 1_000_000} s"
        yield _lost(at_us, cluster, SILENT, text)
