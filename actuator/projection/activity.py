"""That a workload was deactivated, written once: what stands there afterwards is its owner's.

The decision is beside it. Both together show whether an active Workload was activated
since, or not yet deactivated.
"""

from __future__ import annotations

from actuator.projection.workload_view import WorkloadView
from tidegate.jobs.kind import Object
from tidegate.kinds import names


def put(desired: Object, view: WorkloadView, obj: Object) -> None:
    """Put into a Workload as it shall be whether it is active; ``obj`` is as it is."""
    if not view.deactivated:
        return
    noted = obj["metadata"].get("annotations", {}).get(names.DEACTIVATED, "")
    written = noted == view.deactivated_by != ""
    desired["spec"]["active"] = obj["spec"].get("active", True) if written else False
    desired["metadata"]["annotations"][names.DEACTIVATED] = view.deactivated_by
