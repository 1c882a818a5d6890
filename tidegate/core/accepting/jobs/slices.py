"""Elastic jobs: while one holds quota, each growth is a workload of its own, a slice.

The slice waits beside the workload that runs and takes its place once it fits; the core charges
only what it asks for beyond that. Fewer pods change the workload in place, once they are gone.

Source: behaviour.md 13.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from msgspec.structs import replace

from tidegate.contracts.facts import (
    WorkloadChanged,
    WorkloadFinished,
    WorkloadRemoved,
    WorkloadSubmitted,
)
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.core.accepting.jobs.workload_fields import event_fields
from tidegate.core.state.state import State, Workload
from tidegate.model.gates import gate
from tidegate.model.multikueue import OUT_OF_SYNC
from tidegate.model.podset import PodSet

_BASE_MAX = 240
"""Characters of a Workload's name that a slice's name keeps; a version has at most 19 digits."""


def is_elastic(state: State, job: JobObserved) -> bool:
    """Tell whether a job may grow and shrink while it runs."""
    return job.elastic and gate(state.policy, "ElasticJobsViaWorkloadSlices")


def is_made(workload: Workload) -> bool:
    """Tell whether a job that grows makes slices here; of one that was sent its manager does."""
    return workload.elastic and not workload.prebuilt and workload.job.kind != "workload"


def is_replaced(state: State, workload: Workload) -> bool:
    """Tell whether a workload ended because another slice, sent here too, took its place."""
    heir = state.workloads.get(workload.successor)
    return heir is not None and workload.phase == "finished" and heir.phase != "pending"


def has_outgrown(state: State, job: JobObserved, workload: Workload) -> bool:
    """Tell whether a job runs otherwise than the slice asks for that it is one with still.

    That slice was replaced, and the newer one's quota is for a job of the older one's size until
    its manager makes the job one with the newer.
    """
    return is_replaced(state, workload) and not job.active and not job.state.suspended


def out_of_sync(at_us: int, job: JobObserved, workload: Workload) -> WorkloadFinished:
    """Return that a replaced slice's job must not run as it does: it is stopped until it joins."""
    return WorkloadFinished(
        at_us=at_us,
        workload=workload.key,
        uid=workload.uid,
        version=job.version,
        reason=OUT_OF_SYNC,
        message="The job differs from the slice that it names, whose place another has taken.",
    )


def holds(workload: Workload) -> bool:
    """Tell whether an elastic workload runs, or may do so any moment."""
    return workload.elastic and workload.phase in ("reserved", "admitted")


def family(state: State, workload: Workload) -> Iterator[Workload]:
    """Yield the other workloads of a job: whom this one replaced, and who is to replace it.

    Each once: in a ledger of old a slice may replace itself.
    """
    slice_keys = {workload.key}
    older = state.workloads.get(workload.replaces)
    while older is not None and older.key not in slice_keys and older.job.uid == workload.job.uid:
        slice_keys.add(older.key)
        yield older
        older = state.workloads.get(older.replaces)
    newer = state.workloads.get(workload.successor)
    while newer is not None and newer.key not in slice_keys and newer.job.uid == workload.job.uid:
        slice_keys.add(newer.key)
        yield newer
        newer = state.workloads.get(newer.successor)


def shrunk(job: JobObserved, workload: Workload) -> tuple[PodSet, ...]:
    """Return the podsets of a workload that holds quota, fewer where pods are gone for good."""
    expected = _counts(job)
    podsets = workload.podsets
    fewer = all(expected.get(podset.name, podset.count) <= podset.count for podset in podsets)
    remains = job.state.active > sum(expected.values()) and not is_elsewhere(workload)
    if not fewer or remains:
        return podsets
    return tuple(
        replace(podset, count=expected.get(podset.name, podset.count)) for podset in podsets
    )


def is_elsewhere(workload: Workload) -> bool:
    """Tell whether a worker cluster runs a workload: its quota there is that cluster's to free."""
    return workload.dispatch is not None and bool(workload.dispatch.chosen)


def follow(
    state: State, at_us: int, job: JobObserved, workload: Workload
) -> Iterator[WorkloadSubmitted | WorkloadChanged | WorkloadRemoved]:
    """Yield what becomes of the slice that is to replace a workload, if the job wants one."""
    waits = state.workloads.get(workload.successor)
    podsets = _grown(job, workload) if holds(workload) and not job.finished else None
    if podsets is None:
        if waits is not None:
            yield WorkloadRemoved(
                at_us=at_us, workload=waits.key, uid=waits.uid, version=job.version
            )
    elif waits is None:
        yield _slice(state, at_us, job, workload, podsets)
    else:
        changed = _changed(at_us, job, workload, waits, podsets)
        if changed is not None:
            yield changed


def _grown(job: JobObserved, workload: Workload) -> tuple[PodSet, ...] | None:
    """Return the podsets of the slice that a job wants; None: it has all that it wants."""
    expected = _counts(job)
    if set(expected) != {podset.name for podset in workload.podsets}:
        return None
    if all(expected[podset.name] <= podset.count for podset in workload.podsets):
        return None
    # A running job's template holds what its start put in: all but the counts is as it was.
    return tuple(replace(podset, count=expected[podset.name]) for podset in workload.podsets)


def _counts(job: JobObserved) -> dict[str, int]:
    return {podset.name: podset.count for podset in job.podsets}


def _slice(
    state: State, at_us: int, job: JobObserved, workload: Workload, podsets: tuple[PodSet, ...]
) -> WorkloadSubmitted:
    number = _unused(state, job)
    return WorkloadSubmitted(
        workload=_key(job, number),
        uid=f"{job.uid}/{number}",
        job=workload.job,
        queue=workload.queue,
        created_us=at_us,
        podsets=podsets,
        state=JobState(generation=job.state.generation, sized=job.state.sized),
        elastic=True,
        resource=workload.resource,
        **event_fields(at_us, job, workload.key),
    )


def _unused(state: State, job: JobObserved) -> int:
    """Return the number of a new slice: its job's version, or the next that none of them has.

    A cluster that was restored has its jobs in versions that had slices before.
    """
    versions = count(job.state.size_version)
    return next(version for version in versions if _key(job, version) not in state.workloads)


def _key(job: JobObserved, number: int) -> str:
    return f"{job.workload[:_BASE_MAX]}-{number}"


def _changed(
    at_us: int, job: JobObserved, workload: Workload, waits: Workload, podsets: tuple[PodSet, ...]
) -> WorkloadChanged | None:
    before = (waits.priority_class, waits.own_priority, waits.priority_boost, waits.active)
    now = (job.priority_class, job.priority, job.priority_boost, job.active)
    if (waits.podsets, waits.gates, *before) == (podsets, job.gates, *now):
        return None
    return WorkloadChanged(
        workload=waits.key,
        uid=waits.uid,
        queue=workload.queue,
        podsets=podsets,
        elastic=True,
        **event_fields(at_us, job, workload.key),
    )
