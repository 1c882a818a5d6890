"""Pods of StatefulSets and LeaderWorkerSets: ungated as they are created, while the job is started.

Their assignment is on their object; any user who may change the object could write it, so it
counts only while the Workload is admitted, and for as many pods as the Workload was granted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias
from urllib.parse import quote

import msgspec

from actuator.calls import Calls
from actuator.ungating.elastic import granted_pods
from actuator.ungating.pod_ungater import JobPods, PodRelease, Released
from actuator.ungating.pods import is_gated, is_ungated
from tidegate.contracts.decisions import PodSetStart
from tidegate.jobs.job_metadata import prebuilt_workload_name, workload_name
from tidegate.jobs.kind import JobKind, Object, Patch, Refused
from tidegate.jobs.pods import pod as pods
from tidegate.jobs.registry import SETS
from tidegate.jobs.serving import ordering
from tidegate.jobs.serving.members import Membership, job_name
from tidegate.jobs.serving.observing import remote_workload_name
from tidegate.jobs.workload import KIND as WORKLOADS
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.pods import Pod
from tidegate.service.logs import get_log

_log = get_log("ungater")


Report: TypeAlias = Callable[[Pod, Patch], None]
"""Gets a pod as it was, and the patch that let it go."""


def report_nothing(pod: Pod, patch: Patch) -> None:
    """See ``Report``: of a pod that nothing is to be shown of."""


class StartedJob(msgspec.Struct, frozen=True, kw_only=True):
    """What a started job may give to its pods."""

    workload: str = ""  # its key
    decision: str = ""
    podsets: dict[str, PodSetStart] = {}  # with the counts that are granted


class ServingPods:
    """See ``UngatingRule``."""

    selector = f"{names.SERVING_POD}=true"
    gate = names.ADMISSION_GATE

    def __init__(self, report: Report = report_nothing) -> None:
        """``report`` gets each pod that was let go."""
        self._report = report

    def on_ungated(self, pod: Pod, patch: Patch) -> None:
        """See ``UngatingRule.on_ungated``."""
        self._report(pod, patch)

    def job_of(self, pod: Pod) -> str:
        """Return the name of the job that a pod is of; empty: it is of none."""
        meta = pod.metadata
        for kind, serving in SETS.items():
            member = serving.layout.membership(meta)
            if member is not None:
                name = job_name(member.parent, member.index)
                return f"{kind} {meta.namespace}/{name} {member.uid}"
        return ""

    def is_needed(self) -> bool:
        """See ``UngatingRule.is_needed``."""
        return True

    def is_relevant(self, pod: Pod) -> bool:
        """See ``UngatingRule.is_relevant``."""
        return is_gated(pod, self.gate)

    async def ungating_patches(self, calls: Calls, standing: JobPods) -> Released | None:
        """See ``UngatingRule.ungating_patches``."""
        pods = standing.pods
        started = await _started_job(calls, pods[standing.waiting[0]])
        if started is None:
            return None
        capacity = {name: podset.count for name, podset in started.podsets.items()}
        for pod in pods.values():
            if is_ungated(pod, self.gate):
                podset = _podset(pod, started)
                capacity[podset] = capacity.get(podset, 0) - 1
        patches = list[PodRelease]()
        for name in standing.waiting:
            podset = _podset(pods[name], started)
            if capacity.get(podset, 0) > 0:
                capacity[podset] -= 1
                patches += await _releases(calls, pods[name], started, podset)
        return patches


async def _releases(
    calls: Calls, waiting: Pod, started: StartedJob, podset: str
) -> list[PodRelease]:
    meta = waiting.metadata
    pod = await calls.read(pods.KIND.path(meta.namespace, meta.name))
    if pod is None or pod["metadata"]["resourceVersion"] != meta.resource_version:
        return []  # the watch delivers its state
    step = pods.ungate_patch(pod, started.podsets[podset], started.decision, {})
    if isinstance(step, Refused):
        _log.warning("cannot let a pod go", pod=meta.name, error=step.message)
    return [PodRelease(waiting, step, started.workload)] if isinstance(step, Patch) else []


async def _started_job(calls: Calls, pod: Pod) -> StartedJob | None:
    """Return what the job of a pod was started with, as far as its Workload is granted that.

    None: there is no such job.
    """
    kind, member = _membership(pod)
    parent = await calls.read(kind.path(pod.metadata.namespace, member.parent))
    if parent is None or member.uid not in ("", parent["metadata"]["uid"]):
        return None
    notes = parent["metadata"].get("annotations", {})
    starts = ordering.podset_starts(notes, member.index)
    workload = await _workload_of_job(calls, kind, member, parent)
    if starts is None or workload is None:
        return StartedJob()
    counts = granted_pods(read(workload, Workload))
    podsets = {
        start.name: msgspec.structs.replace(
            start, count=min(start.count, counts.get(start.name, 0))
        )
        for start in starts
    }
    meta = workload["metadata"]
    return StartedJob(
        workload=f"{meta['namespace']}/{meta['name']}",
        decision=ordering.decision(notes, member.index),
        podsets=podsets,
    )


async def _workload_of_job(
    calls: Calls, kind: JobKind[Any], member: Membership, parent: Object
) -> Object | None:
    """Return the Workload of a job; one that was made before the job has to be the job's."""
    meta = parent["metadata"]
    name = job_name(member.parent, member.index)
    prebuilt = prebuilt_workload_name(meta.get("labels", {}), meta.get("annotations", {}))
    prebuilt = prebuilt or remote_workload_name(kind, read(meta, ObjectMeta), member.index)
    called = prebuilt or workload_name(kind.kind, kind.group, name, meta["uid"])
    workload = await calls.read(WORKLOADS.path(meta["namespace"], quote(called, safe="")))
    if workload is None or not prebuilt:
        return workload
    owner = read(workload["metadata"], ObjectMeta).controller()
    return workload if owner is not None and owner.uid == meta["uid"] else None


def _membership(pod: Pod) -> tuple[JobKind[Any], Membership]:
    memberships = (
        (serving.row, serving.layout.membership(pod.metadata)) for serving in SETS.values()
    )
    kind, member = next((kind, member) for kind, member in memberships if member is not None)
    assert member is not None, "the pod is of a job"
    return kind, member


def _podset(pod: Pod, started: StartedJob) -> str:
    """Return the podset that a pod is counted in: its role, or the one that there is."""
    podset = _membership(pod)[1].podset
    return (
        podset if podset in started.podsets or not started.podsets else next(iter(started.podsets))
    )
