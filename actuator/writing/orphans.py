"""Workloads without their job: finished, since no pod can run any more.

Source: behaviour.md 8.7.
"""

from __future__ import annotations

from tidegate.jobs.kind import Object
from tidegate.jobs.workload import OWNER_NOT_FOUND, is_orphan
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import ObjectMeta, holding
from tidegate.kinds.times import stamp


def is_left(workload: Object) -> bool:
    """Return whether a Workload is what is left of a job."""
    return is_orphan(read(workload["metadata"], ObjectMeta))


def is_finished(workload: Object) -> bool:
    """Return whether a Workload is finished."""
    return holding(read(workload, Workload).status.conditions, "Finished") is not None


def is_orphaning(job: Object) -> bool:
    """Return whether a job is being deleted in such a way that its Workload stays."""
    return read(job["metadata"], ObjectMeta).orphaning


def without_owner(obj: Object, uid: str) -> Object:
    """Return the patch that takes an owner out, as the garbage collector does; empty: no need."""
    owners = obj["metadata"].get("ownerReferences", [])
    others = [owner for owner in owners if owner["uid"] != uid]
    return {"metadata": {"ownerReferences": others or None}} if others != owners else {}


def finished(obj: Object, at_us: int) -> Object:
    """Return the patch that marks a Workload finished; its admission stays."""
    condition = {
        "type": "Finished",
        "status": "True",
        "reason": OWNER_NOT_FOUND,
        "message": "Its job was deleted and left it behind.",
        "lastTransitionTime": stamp(at_us),
    }
    conditions = obj.get("status", {}).get("conditions", [])
    others = [condition for condition in conditions if condition["type"] != "Finished"]
    return {"status": {"conditions": [*others, condition]}}
