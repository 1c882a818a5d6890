"""Jobs with several workloads: slices of elastic jobs, and facts that apply to variants, too.

While an elastic job holds quota, each scale-up gets a workload of its own, a slice. It waits beside
the running workload and replaces it once it fits; the core charges only its requests beyond that
workload's. A scale-down changes the workload in place, once pods are gone.

Source: behaviour.md 13, 14.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from msgspec.structs import replace

from tidegate.contracts.facts import (
    ActuationFailed,
    FactEvent,
    JobStateReported,
    PodsReadyReported,
    PodsReclaimed,
    WorkloadChanged,
    WorkloadFact,
    WorkloadFinished,
    WorkloadRemoved,
    WorkloadStopped,
    WorkloadSubmitted,
)
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.contracts.phases import HOLDING
from tidegate.core.accepting.jobs.fields import event_fields, fact_fields, finished_fact
from tidegate.core.queueing.siblings import PREEMPTION_GATE, variants_of
from tidegate.core.state.state import State, Workload
from tidegate.model.gates import gate_enabled
from tidegate.model.multikueue import OUT_OF_SYNC
from tidegate.model.podset import PodSet

_BASE_MAX = 240
"""Characters of a Workload's name that a slice's name keeps; a version has at most 19 digits."""


def is_elastic(state: State, job: JobObserved) -> bool:
    """Tell whether a job may be scaled while it runs."""
    return job.elastic and gate_enabled(state.policy, "ElasticJobsViaWorkloadSlices")


def has_own_slices(workload: Workload) -> bool:
    """Tell whether scale-ups of a job create slices here; else its manager cluster creates them."""
    return workload.elastic and not workload.prebuilt and workload.job.kind != "workload"


def is_slice_replaced(state: State, workload: Workload) -> bool:
    """Tell whether a workload finished because another slice, sent here, too, replaced it."""
    successor = state.workloads.get(workload.successor)
    return successor is not None and workload.phase == "finished" and successor.phase != "pending"


def is_out_of_sync(state: State, job: JobObserved, workload: Workload) -> bool:
    """Tell whether a running job differs from the slice that it still belongs to.

    That slice was replaced. Until the manager cluster moves the job to the newer slice, the newer
    one's quota is for a job of the older one's size.
    """
    return is_slice_replaced(state, workload) and not job.active and not job.state.suspended


def out_of_sync_fact(at_us: int, job: JobObserved, workload: Workload) -> WorkloadFinished:
    """Return that a replaced slice's job is out of sync: it is stopped until it joins the newer."""
    return replace(
        finished_fact(at_us, job, workload),
        reason=OUT_OF_SYNC,
        message="The job differs from the slice that it names, whose place another has taken.",
    )


def is_elastic_with_quota(workload: Workload) -> bool:
    """Tell whether an elastic workload runs, or may run at any moment."""
    return workload.elastic and workload.phase in ("reserved", "admitted")


def other_slices(state: State, workload: Workload) -> Iterator[Workload]:
    """Yield the other workloads of a job: slices that this one replaced, and its successors.

    Yields each once, also if a ledger has a slice that replaces itself.
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


def scaled_down_podsets(job: JobObserved, workload: Workload) -> tuple[PodSet, ...]:
    """Return the podsets of a workload with quota, with fewer pods where a scale-down is done."""
    expected = _counts(job)
    podsets = workload.podsets
    fewer = all(expected.get(podset.name, podset.count) <= podset.count for podset in podsets)
    remains = job.state.active > sum(expected.values()) and not _is_dispatched(workload)
    if not fewer or remains:
        return podsets
    return tuple(
        replace(podset, count=expected.get(podset.name, podset.count)) for podset in podsets
    )


def _is_dispatched(workload: Workload) -> bool:
    """Tell whether a worker cluster runs a workload: that cluster says when its pods are gone."""
    return workload.dispatch is not None and bool(workload.dispatch.chosen)


def update_slice(
    state: State, at_us: int, job: JobObserved, workload: Workload
) -> Iterator[WorkloadSubmitted | WorkloadChanged | WorkloadRemoved]:
    """Yield the creation, change or removal of the slice that is to replace a workload."""
    pending_slice = state.workloads.get(workload.successor)
    podsets = (
        _scaled_up_podsets(job, workload)
        if is_elastic_with_quota(workload) and not job.finished
        else None
    )
    if podsets is None:
        if pending_slice is not None:
            yield WorkloadRemoved(**fact_fields(at_us, pending_slice), version=job.version)
    elif pending_slice is None:
        yield _new_slice(state, at_us, job, workload, podsets)
    else:
        changed = _changed_slice(at_us, job, workload, pending_slice, podsets)
        if changed is not None:
            yield changed


def _scaled_up_podsets(job: JobObserved, workload: Workload) -> tuple[PodSet, ...] | None:
    """Return the podsets of the slice that a scale-up needs; None: the job needs none."""
    expected = _counts(job)
    if set(expected) != {podset.name for podset in workload.podsets}:
        return None
    if all(expected[podset.name] <= podset.count for podset in workload.podsets):
        return None
    # A running job's template has what its start injected, so only its counts are read.
    return tuple(replace(podset, count=expected[podset.name]) for podset in workload.podsets)


def _counts(job: JobObserved) -> dict[str, int]:
    return {podset.name: podset.count for podset in job.podsets}


def _new_slice(
    state: State, at_us: int, job: JobObserved, workload: Workload, podsets: tuple[PodSet, ...]
) -> WorkloadSubmitted:
    number = _unused_number(state, job)
    return WorkloadSubmitted(
        workload=_slice_key(job, number),
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


def _unused_number(state: State, job: JobObserved) -> int:
    """Return the number of a new slice: its job's version, or the next unused number.

    After a restore of the cluster, jobs have versions again that had slices before.
    """
    versions = count(job.state.size_version)
    return next(version for version in versions if _slice_key(job, version) not in state.workloads)


def _slice_key(job: JobObserved, number: int) -> str:
    return f"{job.workload[:_BASE_MAX]}-{number}"


def _changed_slice(
    at_us: int,
    job: JobObserved,
    workload: Workload,
    pending_slice: Workload,
    podsets: tuple[PodSet, ...],
) -> WorkloadChanged | None:
    before = (
        pending_slice.priority_class,
        pending_slice.own_priority,
        pending_slice.priority_boost,
        pending_slice.active,
    )
    now = (job.priority_class, job.priority, job.priority_boost, job.active)
    if (pending_slice.podsets, pending_slice.gates, *before) == (podsets, job.gates, *now):
        return None
    return WorkloadChanged(
        workload=pending_slice.key,
        uid=pending_slice.uid,
        queue=workload.queue,
        podsets=podsets,
        elastic=True,
        **event_fields(at_us, job, workload.key),
    )


def with_variant_facts(state: State, facts: Iterable[FactEvent]) -> Iterator[FactEvent]:
    """Yield facts, and after a fact about a parent the facts about its variants."""
    for fact in facts:
        parent = state.workloads.get(fact.workload) if isinstance(fact, WorkloadFact) else None
        if parent is None or not parent.variants or parent.uid != getattr(fact, "uid", ""):
            yield fact
            continue
        members = variants_of(state, parent)
        yield fact
        for workload in members:
            variant_fact = _variant_fact(workload, fact)
            if variant_fact is not None:
                yield variant_fact


def _variant_fact(workload: Workload, fact: FactEvent) -> FactEvent | None:
    fields = {"workload": workload.key, "uid": workload.uid}
    match fact:
        case WorkloadFinished() if workload.phase != "finished":
            return replace(fact, variant_of=workload.parent, **fields)
        case WorkloadRemoved() | PodsReclaimed():
            return replace(fact, **fields)
        case WorkloadChanged():
            return _changed_variant(workload, fact)
        case WorkloadStopped() | JobStateReported() | PodsReadyReported() | ActuationFailed() if (
            workload.phase in HOLDING
        ):
            return replace(fact, **fields)
        case _:
            return None


def _changed_variant(workload: Workload, fact: WorkloadChanged) -> WorkloadChanged:
    closed = PREEMPTION_GATE in workload.preemption_gates
    gates = fact.preemption_gates
    return replace(
        fact,
        workload=workload.key,
        uid=workload.uid,
        allowed_flavors=workload.allowed_flavors,
        preemption_gates=(*gates, PREEMPTION_GATE) if closed else gates,
        has_variants=False,
        held_quota=False,
        held_places={},
    )
