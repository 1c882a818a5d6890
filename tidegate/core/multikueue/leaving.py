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
from tidegate.core.multikueue.slices import is_kept, joins
from tidegate.core.state.remotes import Dispatch
from tidegate.core.state.state import State, Workload, about


def take_back(state: State, workload: Workload) -> list[DecisionEvent]:
    """Have nothing on any cluster of a workload that has no quota here.

    A job that runs there is stopped first, as any other that is evicted: its pods have their time
    to end, and its status is seen here until then.
    """
    dispatched = workload.dispatch
    if dispatched is None:
        return []
    if is_kept(state, workload):
        return again(state, workload, "")
    stops = dispatched.chosen if _has_to_stop(state, workload, dispatched) else ""
    everywhere = dict.fromkeys(
        (*dispatched.nominated, *filter(None, [dispatched.chosen]), *dispatched.copies)
    )
    everywhere.pop(stops, None)
    reason = {"finished": "Finished", "evicting": "Evicted"}.get(workload.phase, "NoReservation")
    if withdrawals := withdrawn(state, workload, dispatched, everywhere, reason):
        return withdrawals
    if stops and not dispatched.stopping_us:
        message = f"Evicted on manager: {workload.evicted_reason}"
        ordered = RemoteDeactivated(
            **about(state, workload), job=workload.job, cluster=stops, message=message
        )
        return [ordered]
    return again(state, workload, "")


def is_withdrawn(state: State, workload: Workload) -> bool:
    """Tell whether no cluster that answers has anything of a workload that leaves."""
    dispatched = workload.dispatch
    if dispatched is None:
        return True
    return not dispatched.chosen and not any(
        is_connected(state, cluster) for cluster in dispatched.leaving
    )


def _has_to_stop(state: State, workload: Workload, dispatched: Dispatch) -> bool:
    """Tell whether the chosen cluster runs a workload that was evicted here, and may stop it.

    It has as long for that as a cluster may be away.
    """
    copy = dispatched.copies.get(dispatched.chosen)
    if workload.phase != "evicting" or copy is None or not is_connected(state, dispatched.chosen):
        return False
    if dispatched.stopping_us and state.now_us >= dispatched.stopping_us + patience_us(state):
        return False
    if dispatched.stopping_us:  # until it has stopped there, and that is seen here
        return not copy.finished_us and (copy.reserved or not copy.synced)
    return copy.reserved and copy.job and not copy.finished_us and not copy.evicted_us


def patience_us(state: State) -> int:
    """Return how long a cluster that runs a workload may be away."""
    policy = state.policy.multikueue
    return 0 if policy is None else policy.worker_lost_us


def again(state: State, workload: Workload, check: str) -> list[DecisionEvent]:
    """Repeat for a new dispatcher the decisions that the one before it was given."""
    dispatched = workload.dispatch
    if dispatched is None or not dispatched.again:
        return []
    fields: dict[str, Any] = {**about(state, workload), "job": workload.job, "again": True}
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
        makes_copy = joins(workload, check_state(workload, check))
        decisions.append(
            ClusterChosen(
                **fields,
                cluster=dispatched.chosen,
                replaces=dispatched.replaces,
                makes_copy=makes_copy,
            )
        )
    return decisions


def check_state(workload: Workload, check: str) -> str:
    """Return how a check of a workload stands."""
    state_of_check = workload.checks.get(check)
    return "Pending" if state_of_check is None else state_of_check.state


def withdrawn(
    state: State, workload: Workload, dispatched: Dispatch, clusters: Iterable[str], reason: str
) -> list[DecisionEvent]:
    """Return the decision that clusters shall have nothing of a workload; nothing if all know."""
    withdrawing = tuple(
        cluster for cluster in dict.fromkeys(clusters) if cluster not in dispatched.leaving
    )
    if not withdrawing:
        return []
    fields = about(state, workload)
    return [RemoteWithdrawn(**fields, job=workload.job, clusters=withdrawing, reason=reason)]
