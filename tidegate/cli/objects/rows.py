"""The rows that ``tidegate list`` prints of each kind, with kueuectl's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tidegate.cli.objects.api_client import Object
from tidegate.cli.objects.printing import age, condition, since
from tidegate.cli.output import Column

Row: TypeAlias = dict[str, Any]
Leads: TypeAlias = Mapping[tuple[str, str], Object]
"""LocalQueues by namespace and name."""

_AGE = Column("AGE", "age")
CLUSTER_QUEUES = (
    Column("NAME", "name"),
    Column("COHORT", "cohort"),
    Column("PENDING WORKLOADS", "pending"),
    Column("ADMITTED WORKLOADS", "admitted"),
    Column("ACTIVE", "active"),
    Column("STOP POLICY", "stop", wide=True),
    _AGE,
)
LOCAL_QUEUES = (
    Column("NAME", "name"),
    Column("CLUSTERQUEUE", "clusterQueue"),
    Column("PENDING WORKLOADS", "pending"),
    Column("ADMITTED WORKLOADS", "admitted"),
    Column("STOP POLICY", "stop", wide=True),
    _AGE,
)
WORKLOADS = (
    Column("NAME", "name"),
    Column("JOB TYPE", "jobType"),
    Column("JOB NAME", "jobName"),
    Column("LOCALQUEUE", "localQueue"),
    Column("CLUSTERQUEUE", "clusterQueue"),
    Column("STATUS", "status"),
    Column("POSITION IN QUEUE", "position"),
    Column("EXEC TIME", "ran"),
    _AGE,
)
FLAVORS = (Column("NAME", "name"), Column("NODE LABELS", "labels"), _AGE)
PODS = (
    Column("NAME", "name"),
    Column("READY", "ready"),
    Column("STATUS", "status"),
    Column("RESTARTS", "restarts"),
    Column("NODE", "node", wide=True),
    _AGE,
)


def spaced(columns: Sequence[Column], *, everywhere: bool) -> Sequence[Column]:
    """Return the columns, behind the namespace if there are several."""
    return (Column("NAMESPACE", "namespace"), *columns) if everywhere else columns


def cluster_queue(found: Object) -> Row:
    """Return the row of a ClusterQueue."""
    spec = found.get("spec") or {}
    return {
        **_counted(found),
        "cohort": spec.get("cohortName", ""),
        "active": is_active(found),
        "stop": spec.get("stopPolicy", "None"),
    }


def local_queue(found: Object) -> Row:
    """Return the row of a LocalQueue."""
    return {
        **_counted(found),
        "clusterQueue": found["spec"].get("clusterQueue", ""),
        "stop": found["spec"].get("stopPolicy", "None"),
    }


def flavor(found: Object) -> Row:
    """Return the row of a ResourceFlavor."""
    labels: Mapping[str, str] = (found.get("spec") or {}).get("nodeLabels") or {}
    shown = ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return {**_named(found), "labels": shown}


def workload(found: Object, leads: Leads, positions: Mapping[str, int]) -> Row:
    """Return the row of a Workload."""
    key = f"{found['metadata']['namespace']}/{found['metadata']['name']}"
    owner = owner_of(found)
    admitted, finished = condition(found, "Admitted"), condition(found, "Finished")
    began = admitted.get("lastTransitionTime", "")
    return {
        **_named(found),
        "jobType": _type(owner),
        "jobName": owner.get("name", ""),
        "localQueue": found["spec"].get("queueName", ""),
        "clusterQueue": queue_of(found, leads),
        "status": status_of(found).upper(),
        "position": positions.get(key) if status_of(found) == "pending" else None,
        "ran": since(began, finished.get("lastTransitionTime", "")),
    }


def pod(found: Object) -> Row:
    """Return the row of a pod."""
    status = found.get("status") or {}
    told: Sequence[Object] = status.get("containerStatuses") or ()
    count = len((found.get("spec") or {}).get("containers") or ())
    leaving = found["metadata"].get("deletionTimestamp")
    return {
        **_named(found),
        "ready": f"{sum(bool(one.get('ready')) for one in told)}/{count}",
        "status": "Terminating" if leaving else status.get("phase", ""),
        "restarts": sum(one.get("restartCount", 0) for one in told),
        "node": (found.get("spec") or {}).get("nodeName", ""),
    }


def is_active(found: Object) -> bool:
    """Tell whether a ClusterQueue admits workloads, as its status says."""
    return bool(condition(found, "Active"))


def status_of(found: Object) -> str:
    """Return how far a Workload is: pending, quotareserved, admitted or finished."""
    for kind in ("Finished", "Admitted", "QuotaReserved"):
        if condition(found, kind):
            return kind.lower()
    return "pending"


def queue_of(found: Object, leads: Leads) -> str:
    """Return the ClusterQueue that admitted a Workload, else the one that its queue leads to."""
    admission = (found.get("status") or {}).get("admission") or {}
    place = (found["metadata"]["namespace"], found["spec"].get("queueName", ""))
    lead = leads.get(place)
    wanted = "" if lead is None else lead["spec"].get("clusterQueue", "")
    return str(admission.get("clusterQueue") or wanted)


def owner_of(found: Object) -> Object:
    """Return the reference to the job behind a Workload, empty if there is none."""
    owners: Sequence[Object] = found["metadata"].get("ownerReferences") or ()
    return next((one for one in owners if one.get("controller")), owners[0] if owners else {})


def _type(owner: Object) -> str:
    group = str(owner.get("apiVersion", "")).rpartition("/")[0]
    kind = str(owner.get("kind", "")).lower()
    return f"{kind}.{group}" if group else kind


def _named(found: Object) -> Row:
    metadata = found["metadata"]
    return {
        "name": metadata["name"],
        "namespace": metadata.get("namespace", ""),
        "age": age(found),
    }


def _counted(found: Object) -> Row:
    status = found.get("status") or {}
    return {
        **_named(found),
        "pending": status.get("pendingWorkloads", 0),
        "admitted": status.get("admittedWorkloads", 0),
    }
