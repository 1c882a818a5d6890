"""What is taken back of a workload that has no quota here: stopped there first, then withdrawn.

Source: multikueue.md 2.5, 2.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidegate.contracts.decision_kinds.clusters import (
    ClusterChosen,
    ClustersNominated,
    RemoteDeactivated,
    RemoteWithdrawn,
)
from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.multikueue.check import is_connected
from tidegate.core.multikueue.nomination import is_external
from tidegate.core.state.remotes import Dispatch
from tidegate.core.state.state import State, Workload


def take_back(state: State, workload: Workload) -> list[DecisionEvent]:
    """Have nothing on any cluster of a workload that has no quota here.

    A job that runs there is stopped first, as any other that is evicted: its pods have their time
    to end, and its status is seen here until then.
    """
    sent = workload.dispatch
    if sent is None:
        return []
    stops = sent.chosen if _has_to_stop(state, workload, sent) else ""
    everywhere = dict.fromkeys((*sent.nominated, *filter(None, [sent.chosen]), *sent.copies))
    everywhere.pop(stops, None)
    reason = {"finished": "Finished", "evicting": "Evicted"}.get(workload.phase, "NoReservation")
    if found := withdrawn(state, workload, sent, everywhere, reason):
        return found
    if stops and not sent.stopping_us:
        told, said = known(state, workload), f"Evicted on manager: {workload.evicted_reason}"
        return [RemoteDeactivated(**told, job=workload.job, cluster=stops, message=said)]
    return again(state, workload, "")


def is_withdrawn(state: State, workload: Workload) -> bool:
    """Tell whether no cluster that answers has anything of a workload that leaves."""
    sent = workload.dispatch
    if sent is None:
        return True
    return not sent.chosen and not any(is_connected(state, one) for one in sent.leaving)


def _has_to_stop(state: State, workload: Workload, sent: Dispatch) -> bool:
    """Tell whether the chosen cluster runs a workload that was evicted here, and may stop it.

    It has as long for that as a cluster may be away.
    """
    copy = sent.copies.get(sent.chosen)
    if workload.phase != "evicting" or copy is None or not is_connected(state, sent.chosen):
        return False
    if sent.stopping_us and state.now_us >= sent.stopping_us + patience_us(state):
        return False
    if sent.stopping_us:  # until it has stopped there, and that is seen here
        return not copy.finished_us and (copy.reserved or not copy.synced)
    return copy.reserved and copy.job and not copy.finished_us and not copy.evicted_us


def patience_us(state: State) -> int:
    """Return how long a cluster that runs a workload may be away."""
    policy = state.policy.multikueue
    return 0 if policy is None else policy.worker_lost_us


def again(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Tell a dispatcher that began what one before it was told."""
    sent = workload.dispatch
    if sent is None or not sent.again:
        return []
    told: dict[str, Any] = {**known(state, workload), "job": workload.job, "again": True}
    found: list[DecisionEvent] = []
    if sent.leaving:
        found.append(RemoteWithdrawn(**told, clusters=tuple(sent.leaving), reason="Again"))
    if sent.nominated:
        external = is_external(state)
        found.append(ClustersNominated(**told, clusters=sent.nominated, external=external))
    if sent.chosen and sent.stopping_us:
        found.append(RemoteDeactivated(**told, cluster=sent.chosen))
    elif sent.chosen and check:
        found.append(ClusterChosen(**told, cluster=sent.chosen))
    return found


def withdrawn(
    state: State, workload: Workload, sent: Dispatch, clusters: Iterable[str], reason: str
) -> list[DecisionEvent]:
    """Return the decision that clusters shall have nothing of a workload; nothing if all know."""
    left = tuple(one for one in dict.fromkeys(clusters) if one not in sent.leaving)
    if not left:
        return []
    told = known(state, workload)
    return [RemoteWithdrawn(**told, job=workload.job, clusters=left, reason=reason)]


def known(state: State, workload: Workload) -> dict[str, Any]:
    """Return the fields that every decision about a workload has."""
    return {
        "at_us": state.now_us,
        "workload": workload.key,
        "uid": workload.uid,
        "cluster_queue": workload.cluster_queue,
    }
