"""Withdraws copies of a workload that has no quota here; a job that runs is stopped first.

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
from tidegate.core.multikueue.nomination import is_connected, is_external
from tidegate.core.multikueue.slices import is_copy_kept, is_joining
from tidegate.core.queueing.admission_checks import check_state
from tidegate.core.state.remotes import Dispatch
from tidegate.core.state.state import State, Workload, decision_fields


def withdraw_everywhere(state: State, workload: Workload) -> list[DecisionEvent]:
    """Withdraw a workload that has no quota here from all clusters.

    A job that runs there is stopped first, like any evicted job: its pods have time to end, and its
    status is synced until then.
    """
    dispatched = workload.dispatch
    if dispatched is None:
        return []
    if is_copy_kept(state, workload):
        return repeat_decisions(state, workload, "")
    stopping_cluster = dispatched.chosen if _needs_stop(state, workload, dispatched) else ""
    clusters = dict.fromkeys(
        (*dispatched.nominated, *filter(None, [dispatched.chosen]), *dispatched.copies)
    )
    clusters.pop(stopping_cluster, None)
    reason = {"finished": "Finished", "evicting": "Evicted"}.get(workload.phase, "NoReservation")
    if withdrawals := withdraw_from(state, workload, dispatched, clusters, reason):
        return withdrawals
    if stopping_cluster and not dispatched.stopping_us:
        message = f"Evicted on manager: {workload.evicted_reason}"
        ordered = RemoteDeactivated(
            **decision_fields(state, workload),
            job=workload.job,
            cluster=stopping_cluster,
            message=message,
        )
        return [ordered]
    return repeat_decisions(state, workload, "")


def is_withdrawn(state: State, workload: Workload) -> bool:
    """Tell whether no connected cluster has a copy of an evicted workload."""
    dispatched = workload.dispatch
    if dispatched is None:
        return True
    return not dispatched.chosen and not any(
        is_connected(state, cluster) for cluster in dispatched.leaving
    )


def _needs_stop(state: State, workload: Workload, dispatched: Dispatch) -> bool:
    """Tell whether the chosen cluster still has to stop the job of an evicted workload.

    It has as much time for that as a cluster may be lost.
    """
    copy = dispatched.copies.get(dispatched.chosen)
    if workload.phase != "evicting" or copy is None or not is_connected(state, dispatched.chosen):
        return False
    if dispatched.stopping_us and state.now_us >= dispatched.stopping_us + worker_lost_us(state):
        return False
    if dispatched.stopping_us:  # until it has stopped there, and its status was synced
        return not copy.finished_us and (copy.reserved or not copy.synced)
    return copy.reserved and copy.job and not copy.finished_us and not copy.evicted_us


def worker_lost_us(state: State) -> int:
    """Return how long a cluster that runs a workload may be lost, in microseconds."""
    policy = state.policy.multikueue
    return 0 if policy is None else policy.worker_lost_us


def repeat_decisions(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Repeat the decisions on a workload's clusters for a new dispatcher."""
    dispatched = workload.dispatch
    if dispatched is None or not dispatched.again:
        return []
    fields: dict[str, Any] = {
        **decision_fields(state, workload),
        "job": workload.job,
        "again": True,
    }
    decisions: list[DecisionEvent] = []
    if dispatched.leaving:
        decisions.append(
            RemoteWithdrawn(**fields, clusters=tuple(dispatched.leaving), reason="Again")
        )
    if dispatched.nominated:
        external = is_external(state)
        decisions.append(
            ClustersNominated(**fields, clusters=dispatched.nominated, external=external)
        )
    if dispatched.chosen and dispatched.stopping_us:
        decisions.append(RemoteDeactivated(**fields, cluster=dispatched.chosen))
    elif dispatched.chosen and check:
        makes_copy = is_joining(workload, check_state(workload, check))
        decisions.append(
            ClusterChosen(
                **fields,
                cluster=dispatched.chosen,
                replaces=dispatched.replaces,
                makes_copy=makes_copy,
            )
        )
    return decisions


def withdraw_from(
    state: State, workload: Workload, dispatched: Dispatch, clusters: Iterable[str], reason: str
) -> list[DecisionEvent]:
    """Return the decision to withdraw a workload from clusters; empty if it was taken for all."""
    withdrawing = tuple(
        cluster for cluster in dict.fromkeys(clusters) if cluster not in dispatched.leaving
    )
    if not withdrawing:
        return []
    fields = decision_fields(state, workload)
    return [RemoteWithdrawn(**fields, job=workload.job, clusters=withdrawing, reason=reason)]
