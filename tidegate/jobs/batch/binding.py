"""When the template of a batch/v1 Job may change, and how it comes to that.

Kubernetes before 1.35 asks for no startTime, later ones for no active pods besides.
"""

from __future__ import annotations

from tidegate.jobs.kind import Object, Patch, Step, Wait
from tidegate.jobs.managed_by import ManagedBy
from tidegate.jobs.templates.paths import parsed
from tidegate.kinds.policies.frameworks import framework

ROW = framework("batch/job")
MANAGED_BY = ManagedBy(path=parsed(ROW.managed_by), own=ROW.controller)
_CONTROLLER_PATIENCE_S = 2.0
_POLL_S = 0.2


def is_bound(job: Object) -> bool:
    """Return whether the API server would refuse a change of the template."""
    status = job.get("status", {})
    return status.get("startTime") is not None or status.get("active", 0) > 0


def unbound(job: Object, waited_s: float = _CONTROLLER_PATIENCE_S) -> Step:
    """Return the next step towards a free template, for where the Job's controller is slow.

    The status of a Job that another controller runs is that controller's.
    """
    if not job["spec"].get("suspend", False):
        return Patch(body={"spec": {"suspend": True}})
    started = job["status"].get("startTime") is not None
    if waited_s < _CONTROLLER_PATIENCE_S or not started or MANAGED_BY.other(job):
        return Wait(after_s=_POLL_S)
    return Patch(body={"status": {"startTime": None}}, subresource="status")
