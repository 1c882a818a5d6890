"""Write once that a workload was deactivated: later values of the field are its owner's.

The decision is beside it. Both together show whether an active Workload was activated
since, or not yet deactivated.
"""

from __future__ import annotations

from actuator.projection.workload_view import WorkloadView
from tidegate.jobs.kind import Object
from tidegate.kinds import names


def put(desired: Object, view: WorkloadView, obj: Object) -> None:
    """Set ``spec.active`` in the desired Workload; ``obj`` is the present one."""
    if not view.deactivated:
        return
    noted = obj["metadata"].get("annotations", {}).get(names.DEACTIVATED, "")
    written = noted == view.deactivated_by != ""
    desired["spec"]["active"] = obj["spec"].get("active", True) if written else False
    desired["metadata"]["annotations"][names.DEACTIVATED] = view.deactivated_by
