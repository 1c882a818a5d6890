"""Whether the job of a workload that holds quota still asks for what was charged.

Compared is what quota depends on: how many pods, and what each of them asks for. How many pods of
an elastic job run is for their gates to say, so those have to stay.

Source: behaviour.md 15.2, equivalence.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tidegate.contracts.facts import ActuationFailed, WorkloadMismatched
from tidegate.contracts.observations import JobObserved
from tidegate.core.queueing.variants import acting
from tidegate.core.state.desired_state import FORGED, decision_seq
from tidegate.core.state.state import State, Workload
from tidegate.model.podset import PodSet

_SHRINKS = ("pod-group",)
"""Kinds whose podsets lose pods by themselves: those that failed and were not replaced yet."""


def compare(
    state: State, at_us: int, job: JobObserved, known: Workload
) -> Iterator[WorkloadMismatched]:
    """Yield that a job differs from what is charged, or agrees again; nothing if that is known."""
    held = acting(state, known)
    if not holds(held):
        return
    message = _unreadable(job) or _differing(job, held)
    if message != held.mismatch:
        yield WorkloadMismatched(
            at_us=at_us, workload=held.key, uid=held.uid, version=job.version, message=message
        )


def holds(workload: Workload) -> bool:
    """Tell whether a workload has quota and is not about to give it back."""
    return workload.phase in ("reserved", "admitted")


def forged(
    state: State, at_us: int, job: JobObserved, known: Workload
) -> Iterator[ActuationFailed]:
    """Yield that a job bears a decision that the ledger has not come to yet: nobody ordered it."""
    held = acting(state, known)
    told = held.failure is not None and held.failure.reason == FORGED
    if decision_seq(state, job.state.decision) > state.seq and not told:
        yield ActuationFailed(
            at_us=at_us,
            workload=held.key,
            uid=held.uid,
            decision_seq=0 if held.order is None else held.order.seq,
            reason=FORGED,
            message=f"The job bears decision {job.state.decision}, which nobody took.",
        )


def _unreadable(job: JobObserved) -> str:
    return f"It cannot be read: {job.message}" if job.stray == "Unreadable" else ""


def _differing(job: JobObserved, held: Workload) -> str:
    if not job.podsets or not held.podsets:
        return ""
    if [one.name for one in job.podsets] != [one.name for one in held.podsets]:
        return f"Its podsets are {', '.join(one.name for one in job.podsets)}."
    if held.elastic:
        return _differing_slice(job, held)
    if job.state.suspended and not (job.state.started or job.state.injected):
        both = zip(job.podsets, held.podsets, strict=True)
        changed = [one.name for one, had in both if _comparable(one, had) != had]
        return f"Podset {changed[0]} was changed while it had quota." if changed else ""
    given = {one.name: one.count for one in held.assignment}
    for seen, charged in zip(job.podsets, held.podsets, strict=True):
        if _asks(_comparable(seen, charged)) != _asks(charged):
            return f"Pods of podset {seen.name} ask for something else than was admitted."
        if not _is_counted(job, seen, charged, given.get(seen.name, charged.count)):
            return f"Podset {seen.name} has {seen.count} pods, not those that were admitted."
    return ""


def _differing_slice(job: JobObserved, held: Workload) -> str:
    """Return in what an elastic job differs; one that was adopted runs as another let it."""
    if job.ungated and held.order is not None:
        return "Pods that it makes would wait behind no gate."
    for seen, charged in zip(job.podsets, held.podsets, strict=True):
        if _asks(_comparable(seen, charged)) != _asks(charged):
            return f"Pods of podset {seen.name} ask for something else than was admitted."
    return ""


def _comparable(seen: PodSet, charged: PodSet) -> PodSet:
    """Return a podset with what was charged for templates of claims of which nothing is known now.

    One that is gone changes nothing for the pods that there are, and there will be no others. What
    device classes are charged as is the administrator's and may change, too.
    """
    if not charged.claimed:
        return replace(seen, claimed="") if seen.claimed else seen
    if seen.claimed in {"", charged.claimed}:
        return replace(seen, claimed=charged.claimed, devices=charged.devices)
    return seen


def _asks(podset: PodSet) -> tuple[object, ...]:
    claims = podset.claims, podset.claimed
    containers = podset.init_containers, podset.containers
    return *containers, podset.pod_resources, podset.overhead, podset.runtime_class, *claims


def _is_counted(job: JobObserved, seen: PodSet, charged: PodSet, given: int) -> bool:
    if job.kind in _SHRINKS and seen.count <= given:
        return True
    done = job.reclaimable.get(seen.name, 0)
    partial = charged.min_count is not None and given < charged.count - done
    whole = job.kind == "workload" or not partial
    return seen.count == given or (seen.count == charged.count and whole)
