"""The admission checks in a Workload's status, and the worker clusters of MultiKueue's.

Their controllers write the states; that a check is required, and that its former state no longer
counts, is ours to show. A condition written together with a reset names the decision that it
follows, so a state beside it was written after it, however fast.

Source: behaviour.md 8.1, 9.1; multikueue.md 2.4, 2.5.
"""

from __future__ import annotations

from typing import Any

from actuator.projection.workload_view import NO_CHECKS, WorkloadView
from tidegate.contracts.decision_kinds.clusters import (
    CheckDecided,
    ClusterChosen,
    ClustersNominated,
    RemoteWithdrawn,
)
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReleased,
    QuotaReserved,
    ReservationRepeated,
    WorkloadEvicted,
)
from tidegate.contracts.facts import FactEvent
from tidegate.jobs.kind import Object
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workloads.status import WorkloadStatus
from tidegate.kinds.times import rfc3339

NOWHERE: Object = {"status": {"clusterName": None}}
"""The patch that clears the cluster that a Workload shows."""
MESSAGE_MAX = 32_768
_CHECK = "AdmissionCheck"


def follow_clusters(view: WorkloadView, event: FactEvent | DecisionEvent) -> bool:
    """Apply an event to a workload's clusters; return whether anything changed."""
    match event:
        case ClustersNominated():
            view.nominated = None if event.external else event.clusters
            view.cluster_name = ""
        case ClusterChosen():
            view.nominated, view.cluster_name = (), event.cluster
        case RemoteWithdrawn():
            gone = event.clusters
            if view.nominated is not None:
                view.nominated = tuple(name for name in view.nominated if name not in gone)
            view.cluster_name = "" if view.cluster_name in gone else view.cluster_name
        case CheckDecided():
            state = {
                "name": event.check,
                "state": event.state,
                "message": event.message,
                "lastTransitionTime": rfc3339(event.at_us),
            }
            view.decided = {**view.decided, event.check: state}
        case _:
            return False
    return True


def reset_checks(view: WorkloadView, event: FactEvent | DecisionEvent) -> None:
    """Forget what was decided of checks for a reservation that ends, or before one that begins."""
    match event:
        case WorkloadEvicted() | QuotaReleased():
            view.nominated, view.cluster_name = (), ""
            view.undone, view.decided = {**view.undone, **view.decided}, NO_CHECKS
        case QuotaReserved():
            view.undone, view.decided, view.nominated = NO_CHECKS, NO_CHECKS, None
        case _:
            pass


def cluster_fields(status: WorkloadStatus) -> dict[str, Any]:
    """Return what a Workload's status shows of its clusters, as fields of a view."""
    return {
        "cluster_name": status.cluster_name or "",
        "nominated": status.nominated_cluster_names or None,
    }


def _merge_decided(
    view: WorkloadView, current: dict[str, Object], *, again: bool
) -> dict[str, Object]:
    """Return check states with those that were decided here; ``again``: all begin anew."""
    changes = view.undone if again else view.decided
    return {
        **current,
        **{name: {**current.get(name, {}), **change} for name, change in changes.items()},
    }


def shows_other_cluster(view: WorkloadView, obj: Object) -> bool:
    """Return whether a Workload still shows another cluster than the one that has it now.

    The API server lets that name be cleared, and never be changed.
    """
    name = obj.get("status", {}).get("clusterName", "")
    return bool(name and view.cluster_name) and name != view.cluster_name


def set_cluster_fields(status: Object, view: WorkloadView) -> None:
    """Put into a status which clusters are asked, or which one runs it.

    What an external dispatcher nominates stands there until one is chosen or all begins anew.
    """
    over = view.phase == "finished"
    if view.cluster_name:
        status["clusterName"] = view.cluster_name
    elif not over:
        status.pop("clusterName", None)
    if view.nominated and not over:
        status["nominatedClusterNames"] = list(view.nominated)
    elif view.nominated is not None or over:
        status.pop("nominatedClusterNames", None)


def follow_checks(view: WorkloadView, event: FactEvent | DecisionEvent, decision: str) -> None:
    """Take in what an event makes of a workload's checks; ``decision`` is its name."""
    reset_checks(view, event)
    match event:
        case QuotaReserved():
            view.checks, view.checks_at_us = event.checks, event.at_us
            view.checks_since = decision if event.checks else view.checks_since
        case ReservationRepeated(admitted=True):
            view.checks = event.checks
        case ReservationRepeated():
            view.checks, view.checks_at_us = event.checks, event.at_us
            view.checks_since = decision
        case WorkloadEvicted() | QuotaReleased() if view.checks or _ended_by_check(event):
            view.checks_since, view.checks_at_us = decision, event.at_us
        case _:
            pass


def _ended_by_check(event: WorkloadEvicted | QuotaReleased) -> bool:
    """Return whether a check ended it, that may have spoken before there was a reservation."""
    return isinstance(event, WorkloadEvicted) and _CHECK in (event.reason, event.cause)


def set_check_states(status: Object, view: WorkloadView, obj: Object) -> None:
    """Set the desired check states in a status; ``obj`` is the present Workload."""
    if view.phase == "finished" or not (view.checks_since or view.checks):
        return
    present: dict[str, Object] = {
        state["name"]: state for state in obj.get("status", {}).get("admissionChecks", ())
    }
    holds = view.phase in ("reserved", "admitted")
    names_wanted = view.checks if holds else tuple(sorted({*present, *view.checks}))
    again = _noted_states(obj) != view.checks_since
    present = _merge_decided(view, present, again=again)
    states = [_state(view, name, present.get(name), again=again) for name in names_wanted]
    if states:
        status["admissionChecks"] = states
    else:
        status.pop("admissionChecks", None)
    if again:
        if view.nominated is None:  # what was nominated for an earlier reservation
            status.pop("nominatedClusterNames", None)
        others = (
            condition
            for condition in status.get("conditions", ())
            if condition["type"] != names.CHECKS_SINCE
        )
        status["conditions"] = [*others, _states_note(view)]


def _noted_states(obj: Object) -> str:
    conditions = obj.get("status", {}).get("conditions", ())
    return next(
        (
            condition["message"]
            for condition in conditions
            if condition["type"] == names.CHECKS_SINCE
        ),
        "",
    )


def _states_note(view: WorkloadView) -> Object:
    return {
        "type": names.CHECKS_SINCE,
        "status": "True",
        "reason": "Reset",
        "message": view.checks_since,
        "lastTransitionTime": rfc3339(view.checks_at_us),
    }


def _state(view: WorkloadView, name: str, current: Object | None, *, again: bool) -> Object:
    at = rfc3339(view.checks_at_us)
    if current is None:
        return {"name": name, "state": "Pending", "lastTransitionTime": at, "message": ""}
    if not again or current["state"] == "Pending":
        return current
    message = f"Reset to Pending after eviction. Previously: {current['state']}"
    message = f"{message}. {current['message']}" if current.get("message") else message
    state: Object = {
        "name": name,
        "state": "Pending",
        "lastTransitionTime": at,
        "message": message[:MESSAGE_MAX],
    }
    if "requeueAfterSeconds" in current:
        state["requeueAfterSeconds"] = current["requeueAfterSeconds"]
    if current["state"] == "Retry":
        state["retryCount"] = current.get("retryCount", 0) + 1
    return state
