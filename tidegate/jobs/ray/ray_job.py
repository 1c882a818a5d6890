"""RayJob: a Ray cluster and, in K8sJobMode, a pod that submits to it.

One that runs on a cluster which is there already has no pods of its own to be admitted. It is over
once its cluster is gone: KubeRay keeps that for ``ttlSecondsAfterFinished``.

Called: RayJob v1; not one with a ``clusterSelector``
Podsets: those of its cluster; ``submitter``: 1 pod in K8sJobMode
Restored: each pod template; a written one goes
Put in: node labels, tolerations, labels and annotations, in each pod template; a submitter's is
written if there is none

Source: behaviour.md 16, RayJob.
"""

from __future__ import annotations

from msgspec.structs import replace

from tidegate.contracts.observed.jobs import VALIDATION_FAILED
from tidegate.errors import UndecodableError
from tidegate.jobs.job_status import JobStatus, Layout, PodSetLocation, UntypedObject
from tidegate.jobs.kind import Object
from tidegate.jobs.ray.cluster_pods import cluster_podsets, is_elastic_cluster, with_container
from tidegate.jobs.ray.growing import (
    at_current_size,
    cluster_path,
    named_path,
    pod_count,
    size_version,
)
from tidegate.jobs.suspended_kind import suspended_kind
from tidegate.jobs.templates.paths import list_at, text_at, value_at
from tidegate.kinds.kueue_api.workloads.topologies import check_groups
from tidegate.kinds.policies.frameworks import framework

_SUSPEND, _CLUSTER = ("spec", "suspend"), ("spec", "rayClusterSpec")
_SUBMITTER = ("spec", "submitterPodTemplate")
_HEAD_CONTAINERS = (*_CLUSTER, "headGroupSpec", "template", "spec", "containers")
_SUBMITTING: Object = {
    "name": "ray-job-submitter",
    "resources": {
        "requests": {"cpu": "500m", "memory": "200Mi"},
        "limits": {"cpu": "1", "memory": "1Gi"},
    },
}
_ENDS = ("Complete", "Failed")


def podset_locations(obj: Object) -> tuple[PodSetLocation, ...]:
    """Return the podsets of a RayJob.

    Raises:
        UndecodableError: its cluster would go on after its end, or as ``cluster_podsets``.
    """
    if value_at(obj, ("spec", "shutdownAfterJobFinishes")) is not True:
        raise UndecodableError(
            "spec.shutdownAfterJobFinishes: the cluster of a queued RayJob ends with it: say true."
        )
    head, *workers = at_current_size(
        obj, cluster_podsets(obj, _CLUSTER, elastic=is_elastic_cluster(obj))
    )
    match text_at(obj, ("spec", "submissionMode")):
        case "K8sJobMode":
            return (head, *workers, _submitter(obj))
        case "SidecarMode":
            template = head.built or value_at(obj, head.template or ())
            built = with_container(template, _SUBMITTING) if template else None
            return (replace(head, built=built), *workers)
        case _:
            return (head, *workers)


def status_of(obj: Object) -> JobStatus:
    """Return the state of a RayJob, from its deployment status.

    It is over once its cluster is gone, which may outlive it by ``ttlSecondsAfterFinished``.
    """
    state, job = text_at(obj, ("status", "jobDeploymentStatus")), ("status", "jobStatus")
    succeeded = text_at(obj, job) == "SUCCEEDED"
    over = state in _ENDS and not list_at(obj, ("beside",))
    runs = state not in ("", "Suspended")
    return JobStatus(
        finished=("Succeeded" if succeeded else "Failed") if over else "",
        message=text_at(obj, ("status", "message")) if over else "",
        active=_pod_count(obj) if runs else 0,
        ready=text_at(obj, ("status", "rayClusterStatus", "state")) == "ready",
        gates=(VALIDATION_FAILED,) if state == "ValidationFailed" else (),
    )


def referred_paths(obj: Object) -> tuple[str, ...]:
    """Return the path of the cluster of a RayJob that has ended, or of an elastic one that runs."""
    named = [("status", "rayClusterName")]
    if text_at(obj, ("status", "jobDeploymentStatus")) in _ENDS:
        return named_path(obj, named)
    return cluster_path(obj, _SUSPEND, named)


def uses_existing_cluster(ray_job: UntypedObject) -> bool:
    """Return whether a RayJob runs on an existing cluster."""
    return bool(ray_job.spec.get("clusterSelector"))


def _pod_count(obj: Object) -> int:
    """Return how many pods a RayJob has that runs, one of which may submit."""
    if not is_elastic_cluster(obj):
        return 1
    submits = text_at(obj, ("spec", "submissionMode")) == "K8sJobMode"
    return pod_count(obj, ("status", "rayClusterStatus"), others=2 if submits else 1)


def _submitter(obj: Object) -> PodSetLocation:
    return PodSetLocation(
        name="submitter",
        count=1,
        template=_SUBMITTER,
        built=None if value_at(obj, _SUBMITTER) else _submitter_template(obj),
    )


def _submitter_template(obj: Object) -> Object:
    """Return the template of a pod that submits, of the head's image."""
    heads = list_at(obj, _HEAD_CONTAINERS)
    image = {"image": heads[0]["image"]} if heads and "image" in heads[0] else {}
    return {"spec": {"containers": [{**_SUBMITTING, **image}], "restartPolicy": "Never"}}


KIND = suspended_kind(
    framework("ray.io/rayjob"),
    Layout(
        podset_locations=podset_locations,
        status_of=status_of,
        elastic=True,
        size_version=size_version,
        check=check_groups,
    ),
    is_skipped=uses_existing_cluster,
    referred_paths=referred_paths,
    waits_for_referred=False,
)
