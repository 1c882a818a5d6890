"""Whether member clusters are heard of: a heartbeat each second, and silence after a while.

The ledger's time is that of its own cluster's heartbeats: a member's keep the member from being
silent, and nothing else. So a member can neither move the clock nor let another's deadlines pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.fact_kinds.clusters import RemoteClusterChanged
from tidegate.contracts.facts import FactEvent, WatchesExpected
from tidegate.contracts.observations import Heartbeat
from tidegate.core.members.standing import expected_of, is_listed, key_of
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
        yield RemoteClusterChanged(at_us=at_us, cluster=key_of(cluster), connected=True)


def fall_silent(state: State, at_us: int) -> Iterator[RemoteClusterChanged]:
    """Yield which member clusters have not been heard of for too long."""
    for cluster in state.policy.member_clusters:
        heard_us = state.dedup.members.setdefault(cluster, at_us)
        remote = state.remote_clusters.get(key_of(cluster))
        if at_us - heard_us <= SILENT_US or (remote is not None and not remote.connected):
            continue
        yield RemoteClusterChanged(
            at_us=at_us,
            cluster=key_of(cluster),
            connected=False,
            reason=SILENT,
            message=f"Nothing has been heard of it for {SILENT_US // 1_000_000} s",
        )
