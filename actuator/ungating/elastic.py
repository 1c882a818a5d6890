"""Ungate pods of elastic jobs: as many as their job's current Workload was granted.

A Workload counts only while its job asks for the pods that it was written for: else the job may
have shrunk since, and another workload have the quota by now.

Source: behaviour.md 13.
"""

from __future__ import annotations

from collections.abc import Mapping

from actuator.calls import Calls
from actuator.ordering.job_objects import with_referenced_objects
from actuator.projection.siblings import generation_of
from actuator.ungating.pod_ungater import JobPods, PodRelease, Released
from actuator.ungating.pods import Owners, gates_without, is_gated, is_ungated, read_owner
from tidegate.jobs.kind import Patch
from tidegate.jobs.workload import KIND as WORKLOADS
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import ObjectMeta, OwnerReference, true_condition
from tidegate.kinds.pods import Pod


class ElasticPods:
    """See ``UngatingRule``."""

    selector = names.ELASTIC_POD
    gate = names.ELASTIC_JOB

    def job_of(self, pod: Pod) -> str:
        """Return the uid of a pod's job."""
        label = pod.metadata.labels.get(names.ELASTIC_POD, "")
        owner = pod.metadata.controller()
        by_owner = "" if owner is None else owner.uid
        return by_owner if label == names.OF_CONTROLLER else label

    def on_ungated(self, pod: Pod, patch: Patch) -> None:
        """Take no notice."""

    def is_needed(self) -> bool:
        """See ``UngatingRule.is_needed``."""
        return True

    def is_relevant(self, pod: Pod) -> bool:
        """See ``UngatingRule.is_relevant``."""
        return is_gated(pod, self.gate)

    async def ungating_patches(self, calls: Calls, standing: JobPods) -> Released | None:
        """See ``UngatingRule.ungating_patches``."""
        pods, waiting = standing.pods, standing.waiting
        owners = Owners(calls, self.job_of(pods[waiting[0]]))
        jobs = {name: await owners.job_above(pods[name].metadata) for name in waiting}
        job = next((owner for owner in jobs.values() if owner is not None), None)
        grant = None if job is None else await _granted_of_job(calls, job, pods[waiting[0]])
        if grant is None:
            return None
        workload, capacity = grant
        for pod in pods.values():
            podset = _podset(pod, capacity)
            if is_ungated(pod, self.gate) and podset in capacity:
                capacity[podset] -= 1
        patches = list[PodRelease]()
        # Pods with a pending patch come first: they use capacity whether or not it is sent again.
        order = sorted(waiting, key=lambda name: name not in standing.sent)
        for name in (name for name in order if jobs[name] is not None):
            podset = _podset(pods[name], capacity)
            if capacity.get(podset, 0) > 0:
                capacity[podset] -= 1
                patches.append(PodRelease(pods[name], _ungating_patch(pods[name]), workload))
        return patches


def _ungating_patch(pod: Pod) -> Patch:
    return Patch(body={"spec": {"schedulingGates": gates_without(pod, names.ELASTIC_JOB)}})


def _podset(pod: Pod, capacity: Mapping[str, int]) -> str:
    """Return the podset of a pod: from its label, or the only one."""
    return next(iter(capacity)) if len(capacity) == 1 else pod.metadata.labels.get(names.PODSET, "")


async def _granted_of_job(
    calls: Calls, job: OwnerReference, pod: Pod
) -> tuple[str, dict[str, int]] | None:
    """Return the key of a job's Workload, and how many pods of each podset it was granted.

    Both are empty if it has none. Of several that do, as a slice takes over from another, the
    larger one counts. None: there is no such job.
    """
    path = WORKLOADS.path(pod.metadata.namespace)
    page = await calls.list_page(path, {"labelSelector": f"{names.JOB_UID}={job.uid}"}, Workload)
    version = await _job_version(calls, job, pod)  # read last: nothing older is compared with it
    if version is None:
        return None
    counts = [
        (f"{workload.metadata.namespace}/{workload.metadata.name}", granted_pods(workload))
        for workload in page.items
        if isinstance(workload, Workload)
        and generation_of(workload.metadata.annotations) == version
    ]
    return max(counts, key=lambda count: sum(count[1].values()), default=("", {}))


async def _job_version(calls: Calls, job: OwnerReference, pod: Pod) -> int | None:
    """Return the version of the object with a job's pod counts; None: no such job."""
    owner = await read_owner(calls, pod.metadata.namespace, job)
    if owner is None:
        return None
    kind, obj = owner
    sized = kind.size_version(await with_referenced_objects(calls, kind, obj))
    return sized or read(obj["metadata"], ObjectMeta).generation


def granted_pods(workload: Workload) -> dict[str, int]:
    """Return how many pods of each podset a Workload may have now."""
    conditions, admission = workload.status.conditions, workload.status.admission
    admitted = true_condition(conditions, "Admitted") and not true_condition(conditions, "Finished")
    if not admitted or admission is None:
        return {}
    requested = {podset.name: podset.count for podset in workload.spec.pod_sets}
    assigned = {
        assignment.name: assignment.count or 0 for assignment in admission.pod_set_assignments
    }
    return {name: min(count, requested.get(name, 0)) for name, count in assigned.items()}
