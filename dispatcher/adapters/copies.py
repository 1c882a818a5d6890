"""A Workload's copy on a worker cluster: how it is made, compared and read.

Pure. Source: multikueue.md 2.2, 2.5, 2.6.
"""

from __future__ import annotations

import re
from typing import Any

from dispatcher.adapters.equivalence import is_equivalent
from tidegate.contracts.observed.clusters import RemoteCopy
from tidegate.errors import TidegateError
from tidegate.jobs.job_metadata import is_elastic, prebuilt_workload_name
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.registry import SETS
from tidegate.jobs.serving.members import GROUPS_MAX, parent_uid
from tidegate.jobs.serving.observing import remote_workload_name
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.times import micros
from tidegate.model.ids import ObjectRef

TEXT_MAX = 1_024
"""Characters of a condition's message: others write it, and the ledger keeps it for ever."""
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
"""What a condition's reason may be: another one could not be shown here."""
PRIORITY = ("priorityClassRef", "priority")
"""Fields of a Workload's spec that may change in place."""
_OURS = "tidegate.dev/"


def workload_copy(local: Object, origin: str) -> Object:
    """Return the copy of a Workload: name, labels, annotations and spec, and no status."""
    return {
        "apiVersion": local["apiVersion"],
        "kind": local["kind"],
        "metadata": copy_metadata(local, origin),
        "spec": local["spec"],
    }


def copy_metadata(local: Object, origin: str) -> Object:
    """Return the metadata of a copy: without owners and without this cluster's own annotations."""
    meta = local["metadata"]
    labels = {key: text for key, text in meta.get("labels", {}).items() if key != names.JOB_UID}
    notes = {
        key: text
        for key, text in meta.get("annotations", {}).items()
        if not key.startswith(_OURS) and key != names.LAST_APPLIED
    }
    return {
        "name": meta["name"],
        "namespace": meta["namespace"],
        "labels": {**labels, names.MANAGER: origin},
        "annotations": notes,
    }


def is_copy_of_origin(obj: Object, origin: str) -> bool:
    """Return whether the manager of this origin sent an object; an empty origin sends none."""
    label: str = obj["metadata"].get("labels", {}).get(names.MANAGER, "")
    return bool(origin) and label == origin


def priority_patch(local: Object, remote: Object) -> Object | None:
    """Return the patch that gives a copy another priority; None: nothing but that must differ."""
    local_spec, remote_spec = comparable_spec(local), comparable_spec(remote)
    if is_equivalent(local_spec, remote_spec):
        return None
    rest = {field: local_spec.get(field) for field in PRIORITY}
    if not is_equivalent({**remote_spec, **rest}, {**local_spec, **rest}):
        return None
    return {"spec": rest}


def deactivation_patch(remote: Object, message: str, at: str) -> Object | None:
    """Return the patch of a copy's status that has its worker evict it; None: it does already.

    Source: multikueue.md 2.5, step 6.
    """
    if _true_condition(remote, "DeactivationTarget") or _true_condition(remote, "Evicted"):
        return None
    condition = {
        "type": "DeactivationTarget",
        "status": "True",
        "reason": "EvictedOnManagerCluster",
        "message": message,
        "lastTransitionTime": at,
    }
    conditions = remote.get("status", {}).get("conditions", ())
    others = [each for each in conditions if each["type"] != "DeactivationTarget"]
    version = {"resourceVersion": remote["metadata"]["resourceVersion"]}  # else others' are lost
    return {"metadata": version, "status": {"conditions": [*others, condition]}}


def differs(local: Object, remote: Object) -> bool:
    """Return whether a copy's spec differs from that of the Workload here."""
    return not is_equivalent(comparable_spec(local), comparable_spec(remote))


def comparable_spec(workload: Object) -> Object:
    """Return what of a Workload's spec is the same here and there."""
    spec: Object = {
        key: value for key, value in workload["spec"].items() if key != "preemptionGates"
    }
    return {"active": True, **spec}


def read_copy(
    local: Object | None, remote: Object, *, job: bool = False, foreign: bool, synced: bool
) -> RemoteCopy:
    """Return what counts of a copy."""
    admitted, evicted = _true_condition(remote, "Admitted"), _true_condition(remote, "Evicted")
    finished = _true_condition(remote, "Finished")
    return RemoteCopy(
        reserved=_true_condition(remote, "QuotaReserved") is not None,
        admitted_us=_since(admitted),
        evicted_us=_since(evicted),
        finished_us=_since(finished),
        reason="" if finished is None else _reason(finished),
        message="" if finished is None else finished.get("message", "")[:TEXT_MAX],
        differs=local is not None and differs(local, remote),
        job=job,
        foreign=foreign,
        synced=synced,
    )


def _reason(condition: dict[str, Any]) -> str:
    text: str = condition.get("reason", "")
    return text if len(text) <= TEXT_MAX and _REASON.fullmatch(text) else "Unknown"


def is_finished(remote: Object) -> bool:
    """Return whether a copy has ended on its worker."""
    return _true_condition(remote, "Finished") is not None


def _true_condition(workload: Object, kind: str) -> dict[str, Any] | None:
    conditions = workload.get("status", {}).get("conditions", ())
    return next(
        (
            condition
            for condition in conditions
            if condition["type"] == kind and condition["status"] == "True"
        ),
        None,
    )


def _since(condition: dict[str, Any] | None) -> int:
    if condition is None:
        return 0
    return max(micros(condition.get("lastTransitionTime", "")), 1)


def prebuilt_of(job: Object) -> str:
    """Return the name of the Workload that a job was made for; empty: none."""
    notes: dict[str, str] = job["metadata"].get("annotations") or {}
    return notes.get(names.PREBUILT_WORKLOAD, "")


def workload_of(job: Object) -> str:
    """Return the key of the Workload that an object was sent for; empty: of none."""
    name = prebuilt_of(job)
    return f"{job['metadata']['namespace']}/{name}" if name else ""


def workloads_of(kind: JobKind[Any], job: Object) -> tuple[str, ...]:
    """Return the keys of all Workloads that an object was sent for: one for each of its groups."""
    if not is_several(kind):
        key = workload_of(job)
        return (key,) if key else ()
    meta = read(job["metadata"], ObjectMeta)
    called = (remote_workload_name(kind, meta, index) for index in range(_groups(kind, job)))
    return tuple(f"{meta.namespace}/{name}" for name in called if name)


def is_several(kind: JobKind[Any]) -> bool:
    """Return whether an object of a kind has a job, and a Workload, for each of its groups."""
    serving = SETS.get(kind.name)
    return serving is not None and serving.layout.grouped


def is_copy_of_job(kind: JobKind[Any], remote: Object, job: ObjectRef, key: str) -> bool:
    """Return whether a remote object is a copy of this job, and of no older one with its name."""
    meta = remote["metadata"]
    labels, notes = meta.get("labels") or {}, meta.get("annotations") or {}
    if is_several(kind):
        return bool(notes.get(names.MANAGER_UID) == parent_uid(job))
    if is_elastic(notes):  # of whichever slice
        return bool(notes.get(names.MANAGER_UID, job.uid) == job.uid)
    return prebuilt_workload_name(labels, notes) in ("", key.partition("/")[2])


def _groups(kind: JobKind[Any], job: Object) -> int:
    try:
        return min(SETS[kind.name].layout.replicas(job), GROUPS_MAX)
    except TidegateError:
        return 0
