"""That a workload was deactivated, written once: what stands there afterwards is its owner's.

Beside it stands the decision. Whoever reads both knows whether an active Workload was activated
since, or not yet deactivated.
"""

from __future__ import annotations

from actuator.projection.workload_view import WorkloadView
from tidegate.jobs.kind import Object
from tidegate.kinds import names


def put(wanted: Object, shown: WorkloadView, obj: Object) -> None:
    """Put into a Workload as it shall be whether it is active; ``obj`` is as it is."""
    if not shown.deactivated:
        return
    noted = obj["metadata"].get("annotations", {}).get(names.DEACTIVATED, "")
    written = noted == shown.deactivated_by != ""
    wanted["spec"]["active"] = obj["spec"].get("active", True) if written else False
    wanted["metadata"]["annotations"][names.DEACTIVATED] = shown.deactivated_by
