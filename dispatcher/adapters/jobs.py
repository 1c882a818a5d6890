"""A job's copy on a worker cluster, and what of its status is copied back: one row a kind.

Pure. Source: multikueue.md 3.1, 3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Literal

from dispatcher.adapters.copies import copy_metadata, is_several
from dispatcher.adapters.slices import without_start_gates
from tidegate.jobs.batch.placing import without_controller_fields
from tidegate.jobs.job_metadata import is_elastic
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.pods.pod import NAME as POD
from tidegate.jobs.pods.pod import TERMINATION_TARGET
from tidegate.jobs.templates.paths import merge_patch, with_value
from tidegate.kinds import names
from tidegate.model.multikueue import ADAPTERS

DEFERRED: Literal["deferred"] = "deferred"
"""The job here stays suspended while its copy runs, so the copy's status is invalid here."""
_ADDRESSES = ("podIP", "podIPs", "hostIP", "hostIPs")
_CONTAINERS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


def remote_job(kind: JobKind[Any], local: Object, workload: str, origin: str) -> Object:
    """Return the copy of a job: as it is here, but run by its kind's own controller there."""
    spec = deepcopy(local["spec"])
    if "suspend" in spec:
        spec["suspend"] = True  # whatever became of it here: it waits for its admission there
    meta = copy_metadata(local, origin)
    if not is_several(kind):
        meta["annotations"][names.PREBUILT_WORKLOAD] = workload
    meta["labels"].pop(names.PREBUILT_WORKLOAD, None)  # it would count before the annotation
    if kind.members is not None or is_elastic(meta["annotations"]):
        meta["annotations"][names.MANAGER_UID] = local["metadata"]["uid"]
    copied: Object = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": meta,
        "spec": spec,
    }
    if kind.managed_by is not None:
        copied = with_value(copied, kind.managed_by.path, None)
    return _MADE.get(kind.name, _unchanged)(without_start_gates(kind.name, copied))


def _unchanged(copied: Object) -> Object:
    return copied


def _prepare_train_job(copied: Object) -> Object:
    patches = copied["spec"].get("runtimePatches")
    if patches:
        others = [patch for patch in patches if patch.get("manager") != "kueue.x-k8s.io/manager"]
        copied["spec"]["runtimePatches"] = others
    return copied


def _prepare_pod(copied: Object) -> Object:
    copied["spec"].pop("nodeName", None)
    return copied


_MADE: dict[str, Callable[[Object], Object]] = {
    "batch/job": without_controller_fields,
    "trainer.kubeflow.org/trainjob": _prepare_train_job,
    POD: _prepare_pod,
}


def status_patch(
    kind: JobKind[Any], local: Object, remote: Object
) -> Object | Literal["deferred"] | None:
    """Return the patch that brings a copy's status to the job; None: it is up to date."""
    status, adapter = _status_of(remote), ADAPTERS.get(kind.name)
    if adapter is not None and not adapter.status:
        return None
    if local["metadata"].get("deletionTimestamp"):
        return None
    if kind.name == "batch/job":
        return _job_status(kind, local, remote, status)
    if not status and (adapter is None or kind.name == POD):
        return None
    if kind.name == POD:
        return None if _is_stopped(remote) else _patch(local, _pod_status(local, status))
    return _patch(local, status)  # an empty one, too: what stands here is of an earlier copy


def suspended_patch(local: Object, remote: Object) -> Object | None:
    """Return the patch that shows a batch Job as suspended while its copy runs; None: it is.

    The controller that would show it runs the copy alone, and Kubernetes 1.36.0 takes no other
    template of a Job that is not shown as suspended.

    Source: multikueue.md 3.2, batch/v1 Job.
    """
    conditions = (local.get("status") or {}).get("conditions") or []
    if any(c["type"] == "Suspended" and c["status"] == "True" for c in conditions):
        return None
    others = [condition for condition in conditions if condition["type"] != "Suspended"]
    at = _status_of(remote).get("startTime")
    times = {} if at is None else {"lastProbeTime": at, "lastTransitionTime": at}
    return {"status": {"conditions": [*others, {**_SUSPENDED, **times}]}}


_SUSPENDED = {
    "type": "Suspended",
    "status": "True",
    "reason": "MultiKueueAdapter",
    "message": "Set by MultiKueue adapter",
}


def spec_patch(kind: JobKind[Any], local: Object, remote: Object) -> Object | None:
    """Return the patch of a copy's spec that changes it in place; None: it stays as it was sent.

    Source: multikueue.md 3.2, RayService.
    """
    field = EDITED.get(kind.name)
    if field is None:
        return None
    content = local["spec"].get(field)
    return None if content == remote["spec"].get(field) else {"spec": {field: content}}


EDITED = {
    "ray.io/rayservice": "serveConfigV2",
    "leaderworkerset.x-k8s.io/leaderworkerset": "replicas",
}
"""The fields of a kind's jobs that may change while they run: changes are copied on."""


def _patch(local: Object, status: Object) -> Object | None:
    changed = merge_patch(local.get("status") or {}, status)
    return {"status": changed} if changed else None


def _job_status(
    kind: JobKind[Any], local: Object, remote: Object, status: Object
) -> Object | Literal["deferred"] | None:
    waits = local["spec"].get("suspend", False)
    if waits and not (remote["spec"].get("suspend", False) or kind.terminal_phase(remote)):
        return DEFERRED
    return _patch(local, {**status, **_lasting_fields(local, status, waits=waits)})


def _lasting_fields(local: Object, status: Object, *, waits: bool) -> Object:
    """Return what an earlier copy left in a Job's status and no API server lets change.

    Its start stands once the Job goes on elsewhere, and no counter goes down but that of a Job
    whose completions are scaled with its pods.
    """
    before, spec = local.get("status") or {}, local["spec"]
    scaled = spec.get("completionMode") == "Indexed"
    scaled = scaled and spec.get("completions") == spec.get("parallelism", 1)
    counters = ("failed",) if scaled else ("failed", "succeeded")
    lasting = {
        name: before[name] for name in counters if _count(before, name) > _count(status, name)
    }
    if not waits and before.get("startTime") is not None:
        lasting["startTime"] = before["startTime"]
    return lasting


def _status_of(remote: Object) -> Object:
    status = remote.get("status")
    return status if isinstance(status, dict) else {}


def _count(status: Object, name: str) -> int:
    """Return a counter of a status; a worker may write anything in its place."""
    count = status.get(name)
    return count if isinstance(count, int) else 0


def _is_stopped(remote: Object) -> bool:
    """Return whether a pod is stopped there, and did not succeed: the one here may run again."""
    status, meta = remote["status"], remote["metadata"]
    conditions = status.get("conditions", ())
    target = any(condition["type"] == TERMINATION_TARGET for condition in conditions)
    return status.get("phase") != "Succeeded" and (target or "deletionTimestamp" in meta)


def _pod_status(local: Object, status: Object) -> Object:
    """Return the status to write on the pod here: first without containers, if they run again.

    A gated pod stays unscheduled here until its copy exists; addresses of the copy are left out.

    An address of the other cluster's network may belong to any host here, and a Service that
    selects the pod would send its clients there.
    """
    status = {field: value for field, value in status.items() if field not in _ADDRESSES}
    if _has_restarted(local.get("status") or {}, status):
        status = {field: value for field, value in status.items() if field not in _CONTAINERS}
    gated = bool(local["spec"].get("schedulingGates"))
    local_condition = _scheduled(local.get("status") or {})
    remote_condition = _scheduled(status)
    if (
        not gated
        or local_condition is None
        or (remote_condition is not None and remote_condition["status"] == "True")
    ):
        return status
    others = [
        condition
        for condition in status.get("conditions", ())
        if condition["type"] != "PodScheduled"
    ]
    return {**status, "conditions": [*others, local_condition]}


def _has_restarted(local: Object, status: Object) -> bool:
    """Return whether a container that ended here has not there: no API server lets that happen."""
    ended = {
        (field, container["name"])
        for field in _CONTAINERS
        for container in local.get(field) or ()
        if "terminated" in container.get("state", {})
    }
    return any(
        (field, container["name"]) in ended and "terminated" not in container.get("state", {})
        for field in _CONTAINERS
        for container in status.get(field) or ()
    )


def _scheduled(status: Object) -> Object | None:
    conditions = status.get("conditions", ())
    return next(
        (condition for condition in conditions if condition["type"] == "PodScheduled"), None
    )
