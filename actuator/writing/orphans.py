"""Workloads whose job is gone: finished, since nothing is left that could run.

Source: behaviour.md 8.7.
"""

from __future__ import annotations

from tidegate.jobs.kind import Object
from tidegate.jobs.workload import OWNER_NOT_FOUND, is_orphan
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.workload import Workload
from tidegate.kinds.meta import holding
from tidegate.kinds.times import stamp

_ORPHANING = "orphan"
"""The finalizer of an object whose dependents the garbage collector is to leave behind."""


def is_unfinished_orphan(found: Object) -> bool:
    """Tell whether a Workload is left of a job, and nobody said yet that it is finished."""
    seen = read(found, Workload)
    return is_orphan(seen.metadata) and holding(seen.status.conditions, "Finished") is None


def is_orphaning(job: Object) -> bool:
    """Tell whether a job is being deleted in such a way that its Workload stays."""
    meta = job["metadata"]
    return "deletionTimestamp" in meta and _ORPHANING in meta.get("finalizers", ())


def finished(found: Object, at_us: int) -> Object:
    """Return the patch of a Workload's status that says so; what it was granted stays to read."""
    condition = {
        "type": "Finished",
        "status": "True",
        "reason": OWNER_NOT_FOUND,
        "message": "Its job was deleted and left it behind.",
        "lastTransitionTime": stamp(at_us),
    }
    told = found.get("status", {}).get("conditions", [])
    others = [one for one in told if one["type"] != "Finished"]
    return {"status": {"conditions": [*others, condition]}}
