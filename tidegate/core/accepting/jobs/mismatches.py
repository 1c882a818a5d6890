"""Compares the job of a workload that holds quota with what is charged.

It compares what quota depends on: the number of pods and the requests of each. The scheduling gates
of an elastic job's pods decide how many of them run, so these gates have to stay.

Source: behaviour.md 15.2, equivalence.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tidegate.contracts.facts import ActuationFailed, WorkloadMismatched
from tidegate.contracts.observations import JobObserved
from tidegate.core.accepting.jobs.fields import fact_fields
from tidegate.core.members.placement import OF_COPY
from tidegate.core.queueing.siblings import acting_variant
from tidegate.core.state.desired_state import FORGED, decision_seq, is_stopped, stays_gated
from tidegate.core.state.state import State, Workload
from tidegate.model.podset import PodSet

_SHRINKS = ("pod-group",)
"""Kinds whose podsets may have fewer pods: failed ones that were not replaced yet."""


def report_mismatch(
    state: State, at_us: int, job: JobObserved, workload: Workload
) -> Iterator[WorkloadMismatched]:
    """Yield that a job differs from what is charged, or agrees again, if not recorded yet."""
    other = acting_variant(state, workload)
    if not has_quota(other):
        return
    message = _unreadable_message(job) or _difference(job, other)
    of_copy = other.mismatch.startswith(OF_COPY)
    if message != other.mismatch and (message or not of_copy):
        yield WorkloadMismatched(**fact_fields(at_us, other), version=job.version, message=message)


def report_copy_mismatch(
    at_us: int, job: JobObserved, workload: Workload
) -> Iterator[WorkloadMismatched]:
    """Yield that a placed job's copy differs from what is charged, or agrees again.

    Editors of jobs in the copy's cluster may make it larger there. Only the requests of its pods
    are compared: its other fields lack what belongs to Kueue.
    """
    differing = (
        _unreadable_message(job)
        or _podset_difference(job, workload)
        or _pod_difference(job, workload)
    )
    message = OF_COPY + differing if differing else ""
    before = workload.mismatch if workload.mismatch.startswith(OF_COPY) else ""
    if has_quota(workload) and message != before:
        yield WorkloadMismatched(**fact_fields(at_us, workload), message=message)


def has_quota(workload: Workload) -> bool:
    """Tell whether a workload has quota and is not being evicted."""
    return workload.phase in ("reserved", "admitted")


def must_stay_charged(state: State, job: JobObserved, workload: Workload) -> bool:
    """Tell whether a workload's podsets must stay as charged: its usage is counted by them.

    The job is compared with them. Pods of an evicted job may run until its stop is proven.
    """
    other = acting_variant(state, workload)
    leaving = other.phase == "evicting" and not other.stopped
    return has_quota(other) or (leaving and not is_stopped(state, workload, job.state))


def report_forged(
    state: State, at_us: int, job: JobObserved, workload: Workload
) -> Iterator[ActuationFailed]:
    """Yield that a job bears a forged decision: its seq is beyond the ledger's end."""
    other = acting_variant(state, workload)
    is_forged = other.failure is not None and other.failure.reason == FORGED
    if decision_seq(state, job.state.decision) > state.seq and not is_forged:
        yield ActuationFailed(
            **fact_fields(at_us, other),
            decision_seq=0 if other.order is None else other.order.seq,
            reason=FORGED,
            message=f"The job carries decision {job.state.decision}, which is not in the ledger.",
        )


def _unreadable_message(job: JobObserved) -> str:
    return f"The job cannot be read: {job.message}" if job.stray == "Unreadable" else ""


def _difference(job: JobObserved, workload: Workload) -> str:
    if not job.podsets or not workload.podsets:
        return ""
    if misnamed := _podset_difference(job, workload):
        return misnamed
    if workload.elastic:
        return _slice_difference(job, workload)
    waits = job.state.suspended and not stays_gated(workload)
    if waits and not (job.state.started or job.state.injected):
        both = zip(job.podsets, workload.podsets, strict=True)
        changed = [podset.name for podset, had in both if _comparable(podset, had) != had]
        return f"Podset {changed[0]} was changed while it held quota." if changed else ""
    return _pod_difference(job, workload)


def _podset_difference(job: JobObserved, workload: Workload) -> str:
    """Return that a job has other podsets; empty also if its podsets were not observed."""
    if [podset.name for podset in job.podsets] == [podset.name for podset in workload.podsets]:
        return ""
    podsets = ", ".join(podset.name for podset in job.podsets)
    return f"The job has the podsets {podsets}." if podsets else ""


def _pod_difference(job: JobObserved, workload: Workload) -> str:
    """Return how the pods of a job differ from what is charged; empty: they agree."""
    if not job.podsets:
        return ""
    assigned = {assignment.name: assignment.count for assignment in workload.assignment}
    for observed, charged in zip(job.podsets, workload.podsets, strict=True):
        if _requests_of(_comparable(observed, charged)) != _requests_of(charged):
            return f"Pods of podset {observed.name} request other resources than admitted."
        if not _is_count_expected(
            job, observed, charged, assigned.get(observed.name, charged.count)
        ):
            return (
                f"Podset {observed.name} has {observed.count} pods, another number than admitted."
            )
    return ""


def _slice_difference(job: JobObserved, workload: Workload) -> str:
    """Return how an elastic job differs; an adopted one may lack the gate: Kueue started it."""
    if job.ungated and workload.order is not None:
        return "The pod template has no scheduling gate."
    for podset, charged in zip(job.podsets, workload.podsets, strict=True):
        if _requests_of(_comparable(podset, charged)) != _requests_of(charged):
            return f"Pods of podset {podset.name} request other resources than admitted."
    return ""


def _comparable(podset: PodSet, charged: PodSet) -> PodSet:
    """Return a podset with the charge of its ResourceClaimTemplates, if these are unknown now.

    A deleted template changes nothing for existing pods, and no new ones can be created. The
    mapping of device classes to resources belongs to the administrator and may change, too.
    """
    if not charged.claimed:
        return replace(podset, claimed="") if podset.claimed else podset
    if podset.claimed in {"", charged.claimed}:
        return replace(podset, claimed=charged.claimed, devices=charged.devices)
    return podset


def _requests_of(podset: PodSet) -> tuple[object, ...]:
    claims = podset.claims, podset.claimed
    containers = podset.init_containers, podset.containers
    return *containers, podset.pod_resources, podset.overhead, podset.runtime_class, *claims


def _is_count_expected(job: JobObserved, podset: PodSet, charged: PodSet, count: int) -> bool:
    if job.kind in _SHRINKS and podset.count <= count:
        return True
    if job.copy is not None and job.state.suspended and podset.count == charged.count:
        return True  # only its start makes it smaller
    done = job.reclaimable.get(podset.name, 0)
    partial = charged.min_count is not None and count < charged.count - done
    whole = job.kind == "workload" or not partial
    return podset.count == count or (podset.count == charged.count and whole)
