"""A job and the Workload that its owner made for it: do they ask for the same, and as what.

The Workload says what is asked for and what people wish; the job says how it stands. Containers are
compared as far as they are charged, tolerations as long as no start has put others in. A job that
runs may have fewer pods: a start asks for what was granted, and for none that ended before.

Source: behaviour.md 15.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tidegate.contracts.observations import JobObserved
from tidegate.model.podset import PodSet

OUT_OF_SYNC = "OutOfSync"
_SAID = "The prebuilt workload is out of sync with its user job"


def key_of(job: JobObserved) -> str:
    """Return the key of the Workload that a job names."""
    return f"{job.namespace}/{job.prebuilt}"


def unclear(job: JobObserved) -> JobObserved:
    """Return a job of whose Workload nobody knows yet, so that it is known to be there."""
    return replace(job, workload=key_of(job), podsets=(), gates=(*job.gates, _gate(job)))


def waiting(job: JobObserved) -> JobObserved:
    """Return a job that waits for its Workload, which is not there or is another's."""
    return replace(job, gates=(*job.gates, _gate(job)))


def joined(job: JobObserved, made: JobObserved) -> JobObserved:
    """Return a job as its Workload asks for it; ``made`` is that Workload observed alone.

    If they do not match, a job that is suspended is over; one that runs is to be stopped first.
    """
    found = _merged(job, made)
    if job.finished:
        return found
    settled = job.state.suspended and not (job.state.started or job.state.injected)
    if settled and made.finished:
        return replace(found, finished=made.finished, message=made.message)
    differs = next(mismatches(job, made, settled=settled), "")
    if not differs:
        return found
    if not settled:
        return replace(found, active=False)
    return replace(found, finished=OUT_OF_SYNC, message=f"{_SAID}: {differs}.")


def mismatches(job: JobObserved, made: JobObserved, *, settled: bool) -> Iterator[str]:
    """Yield in what a job and its Workload differ; ``settled``: no start is in its template."""
    if job.max_execution_s != made.max_execution_s:
        yield f"maximum execution time {made.max_execution_s} s, the job {job.max_execution_s} s"
    if len(job.podsets) != len(made.podsets):
        yield f"{len(made.podsets)} podsets, the job {len(job.podsets)}"
        return
    for ours, theirs in zip(job.podsets, made.podsets, strict=True):
        if ours.name != theirs.name:
            yield f"podset {theirs.name}, the job {ours.name}"
        yield from (f"podset {theirs.name}, {one}" for one in _differing(ours, theirs, settled))


def _differing(job: PodSet, made: PodSet, settled: bool) -> Iterator[str]:  # noqa: FBT001 - as above
    lowered = not settled and job.count < made.count
    if job.count != made.count and not lowered:
        yield f"{made.count} pods, the job {job.count}"
    if job.min_count != made.min_count and settled:
        yield "the fewest pods"
    if (job.init_containers, job.containers) != (made.init_containers, made.containers):
        yield "what its containers ask for"
    if job.pod_resources != made.pod_resources:
        yield "what its pods ask for"
    if settled and job.tolerations != made.tolerations:
        yield "tolerations"


def _merged(job: JobObserved, made: JobObserved) -> JobObserved:
    named = bool(job.priority_class)
    return replace(
        job,
        workload=made.workload,
        podsets=made.podsets,
        max_execution_s=made.max_execution_s,
        created_us=made.created_us,
        priority_class=job.priority_class if named else made.priority_class,
        pod_priority_class="" if named else made.pod_priority_class,
        priority=None if named else made.priority,
        active=made.active,
        priority_boost=made.priority_boost,
        gates=tuple(dict.fromkeys((*job.gates, *made.gates))),
        preemption_gates=made.preemption_gates,
        allowed_flavors=made.allowed_flavors,
        held_quota=made.held_quota,
        held_places=made.held_places,
        checks=made.checks,
        checks_since=made.checks_since,
        deactivated=made.deactivated,
    )


def _gate(job: JobObserved) -> str:
    return f"Workload/{job.prebuilt}"
