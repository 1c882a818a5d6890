"""Worker clusters in a Workload's status: who is asked, who runs it, and the check of MultiKueue.

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


def follow(shown: WorkloadView, event: FactEvent | DecisionEvent) -> bool:
    """Take in what an event makes of a workload's clusters; tell whether anything is otherwise."""
    match event:
        case ClustersNominated():
            shown.nominated, shown.cluster_name = event.clusters, ""
        case ClusterChosen():
            shown.nominated, shown.cluster_name = (), event.cluster
        case RemoteWithdrawn():
            gone = event.clusters
            shown.nominated = tuple(one for one in shown.nominated if one not in gone)
            shown.cluster_name = "" if shown.cluster_name in gone else shown.cluster_name
        case CheckDecided():
            told = {
                "name": event.check,
                "state": event.state,
                "message": event.message,
                "lastTransitionTime": stamp(event.at_us),
            }
            shown.decided = {**shown.decided, event.check: told}
        case _:
            return False
    return True


def begin_anew(shown: WorkloadView, event: FactEvent | DecisionEvent) -> None:
    """Forget what was decided of checks for a reservation that ends, or before one that begins."""
    match event:
        case WorkloadEvicted() | QuotaReleased():
            shown.nominated, shown.cluster_name = (), ""
            shown.undone, shown.decided = {**shown.undone, **shown.decided}, {}
        case QuotaReserved():
            shown.undone, shown.decided = {}, {}
        case _:
            pass


def read_back(status: WorkloadStatus) -> dict[str, Any]:
    """Return what a Workload's status shows of its clusters, as fields of a view."""
    return {
        "cluster_name": status.cluster_name or "",
        "nominated": status.nominated_cluster_names,
    }


def states(shown: WorkloadView, told: dict[str, Object], *, again: bool) -> dict[str, Object]:
    """Return check states with those that were decided here; ``again``: all begin anew."""
    ours = shown.undone if again else shown.decided
    return {**told, **{name: {**told.get(name, {}), **one} for name, one in ours.items()}}


def put(status: Object, shown: WorkloadView) -> None:
    """Put into a status which clusters are asked, or which one runs it."""
    over = shown.phase == "finished"
    for field, value in (
        ("clusterName", shown.cluster_name),
        ("nominatedClusterNames", [] if over else list(shown.nominated)),
    ):
        if value:
            status[field] = value
        elif not (over and field == "clusterName"):
            status.pop(field, None)
