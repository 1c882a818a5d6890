"""Compare a job with the Workload that its owner made for it: do both request the same.

The Workload holds the requests and preferences; the job holds the state. Containers are
compared as far as they are charged, tolerations as long as no start has put others in. A job that
runs may have fewer pods: a start asks for what was granted, and for none that ended before. Pods
of an elastic job need no gate while it is joined to a Workload that a manager sent: their number
is compared. Before that only the job's own label says that it was sent, and any user may write it.

Source: behaviour.md 15.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tidegate.contracts.observations import JobObserved
from tidegate.contracts.observed.jobs import INCOMPLETE
from tidegate.jobs.pods import pod_group
from tidegate.model.multikueue import OUT_OF_SYNC
from tidegate.model.podset import PodSet

_SAID = "The prebuilt workload is out of sync with its user job"


def prebuilt_key(job: JobObserved) -> str:
    """Return the key of the Workload that a job names."""
    return f"{job.namespace}/{job.prebuilt}"


def awaiting_observation(job: JobObserved) -> JobObserved:
    """Return the observation of a job whose prebuilt Workload was not observed yet."""
    return replace(
        job, workload=prebuilt_key(job), podsets=(), gates=(*job.gates, _workload_gate(job))
    )


def awaiting_workload(job: JobObserved) -> JobObserved:
    """Return a job that waits for its Workload, which is not there or is another's."""
    return replace(job, gates=(*job.gates, _workload_gate(job)))


def merged_with_workload(job: JobObserved, workload: JobObserved) -> JobObserved:
    """Return a job with its prebuilt Workload's requests; ``workload`` is observed alone.

    If they do not match, a job that is suspended is over; one that runs is to be stopped first.
    """
    merged = _with_workload_fields(job, workload)
    if job.finished:
        return merged
    settled = job.state.suspended and not (job.state.started or job.state.injected)
    if settled and workload.finished:
        return replace(merged, finished=workload.finished, message=workload.message)
    differs = next(mismatches(job, workload, settled=settled), "")
    if not differs:
        return merged
    if not settled:
        return replace(merged, active=False)
    return replace(merged, finished=OUT_OF_SYNC, message=f"{_SAID}: {differs}.")


def mismatches(job: JobObserved, workload: JobObserved, *, settled: bool) -> Iterator[str]:
    """Yield in what a job and its Workload differ; ``settled``: no start is in its template."""
    if job.max_execution_s != workload.max_execution_s:
        seconds = workload.max_execution_s
        yield f"maximum execution time {seconds} s, the job {job.max_execution_s} s"
    if job.kind == pod_group.NAME:
        yield from _group_mismatches(job, workload)
        return
    if len(job.podsets) != len(workload.podsets):
        yield f"{len(workload.podsets)} podsets, the job {len(job.podsets)}"
        return
    for own, workload_podset in zip(job.podsets, workload.podsets, strict=True):
        if own.name != workload_podset.name:
            yield f"podset {workload_podset.name}, the job {own.name}"
        yield from (
            f"podset {workload_podset.name}, {difference}"
            for difference in _podset_mismatches(own, workload_podset, settled)
        )


def _group_mismatches(job: JobObserved, workload: JobObserved) -> Iterator[str]:
    """Yield in what a group differs: it may lack pods that ended, and none of another role.

    Its tolerations are not compared: pods that were started bear those of their flavor, and some
    of them may be left when the others wait again.
    """
    own = {podset.name: podset for podset in job.podsets}
    podsets = {podset.name: podset for podset in workload.podsets}
    yield from (f"no podset {name}, the job has it" for name in own if name not in podsets)
    for name, podset in podsets.items():
        pods = own[name].count if name in own else 0
        lacks = pods < podset.count and INCOMPLETE in job.gates
        if pods != podset.count and not lacks:
            yield f"podset {name}, {podset.count} pods, the job {pods}"
        elif name in own and _charged_requests(own[name]) != _charged_requests(podset):
            yield f"podset {name}, what its pods ask for"


def _charged_requests(podset: PodSet) -> tuple[object, ...]:
    return podset.init_containers, podset.containers, podset.pod_resources


def _podset_mismatches(job: PodSet, podset: PodSet, settled: bool) -> Iterator[str]:  # noqa: FBT001 - as above
    lowered = not settled and job.count < podset.count
    if job.count != podset.count and not lowered:
        yield f"{podset.count} pods, the job {job.count}"
    if job.min_count != podset.min_count and settled:
        yield "the fewest pods"
    if (job.init_containers, job.containers) != (podset.init_containers, podset.containers):
        yield "what its containers ask for"
    if job.pod_resources != podset.pod_resources:
        yield "what its pods ask for"
    if settled and job.tolerations != podset.tolerations:
        yield "tolerations"


def _with_workload_fields(job: JobObserved, workload: JobObserved) -> JobObserved:
    named = bool(job.priority_class)
    return replace(
        job,
        workload=workload.workload,
        ungated=job.ungated and not workload.elastic,
        podsets=workload.podsets,
        max_execution_s=workload.max_execution_s,
        created_us=workload.created_us,
        priority_class=job.priority_class if named else workload.priority_class,
        pod_priority_class="" if named else workload.pod_priority_class,
        priority=None if named else workload.priority,
        active=workload.active,
        priority_boost=workload.priority_boost,
        gates=tuple(dict.fromkeys((*job.gates, *workload.gates))),
        preemption_gates=workload.preemption_gates,
        allowed_flavors=workload.allowed_flavors,
        held_quota=workload.held_quota,
        held_places=workload.held_places,
        checks=workload.checks,
        checks_since=workload.checks_since,
        nominated=workload.nominated,
        deactivated=workload.deactivated,
    )


def _workload_gate(job: JobObserved) -> str:
    return f"Workload/{job.prebuilt}"
