"""Worker clusters in a Workload's status: nominated, chosen, and the check of MultiKueue.

Source: multikueue.md 2.4, 2.5.
"""

from __future__ import annotations

from typing import Any

from actuator.projection.workload_view import WorkloadView
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
    WorkloadEvicted,
)
from tidegate.contracts.facts import FactEvent
from tidegate.jobs.kind import Object
from tidegate.kinds.kueue_api.workloads.status import WorkloadStatus
from tidegate.kinds.times import stamp

NOWHERE: Object = {"status": {"clusterName": None}}
"""The patch that clears the cluster that a Workload shows."""


def follow(view: WorkloadView, event: FactEvent | DecisionEvent) -> bool:
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
                "lastTransitionTime": stamp(event.at_us),
            }
            view.decided = {**view.decided, event.check: state}
        case _:
            return False
    return True


def begin_anew(view: WorkloadView, event: FactEvent | DecisionEvent) -> None:
    """Forget what was decided of checks for a reservation that ends, or before one that begins."""
    match event:
        case WorkloadEvicted() | QuotaReleased():
            view.nominated, view.cluster_name = (), ""
            view.undone, view.decided = {**view.undone, **view.decided}, {}
        case QuotaReserved():
            view.undone, view.decided, view.nominated = {}, {}, None
        case _:
            pass


def read_back(status: WorkloadStatus) -> dict[str, Any]:
    """Return what a Workload's status shows of its clusters, as fields of a view."""
    return {
        "cluster_name": status.cluster_name or "",
        "nominated": status.nominated_cluster_names or None,
    }


def states(view: WorkloadView, current: dict[str, Object], *, again: bool) -> dict[str, Object]:
    """Return check states with those that were decided here; ``again``: all begin anew."""
    changes = view.undone if again else view.decided
    return {
        **current,
        **{name: {**current.get(name, {}), **change} for name, change in changes.items()},
    }


def moves(view: WorkloadView, obj: Object) -> bool:
    """Return whether a Workload still shows another cluster than the one that has it now.

    The API server lets that name be cleared, and never be changed.
    """
    name = obj.get("status", {}).get("clusterName", "")
    return bool(name and view.cluster_name) and name != view.cluster_name


def put(status: Object, view: WorkloadView) -> None:
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
