"""What becomes of the heads that a cycle did not admit: said why, and parked or tried again.

Source: behaviour.md 2.4.
"""

from __future__ import annotations

from hashlib import sha256

from tidegate.contracts.decisions import FlavorTried, WorkloadPending
from tidegate.core.draft import Draft, Held
from tidegate.core.explain import kinds, sentence, stands, tried
from tidegate.core.nominating import Nominee, Outcome
from tidegate.core.ordering import gate
from tidegate.core.passing import Pass
from tidegate.core.preemption.guarantee import trace

_SHAPE_DIGITS = 16
_PARKED_ALONE: tuple[Outcome, ...] = ("gated", "refused", "elsewhere")
_PARKED_TOGETHER: tuple[Outcome, ...] = ("no fit", "no candidates")


def explain(run_of: Pass, nominee: Nominee) -> bool:
    """Say why a head waits, unless what was said last is still so; tell whether it was news."""
    if nominee.outcome != "preempting" and stands(run_of.draft, nominee):
        return False
    _tell(run_of, nominee, _held(nominee, parked=False))
    return True


def requeue_kueue(run_of: Pass, nominee: Nominee) -> bool:
    """Say why a head waits, and park it until an event ends that; tell whether anything changed."""
    if nominee.outcome == "admitted":
        return True
    workload, best_effort = nominee.workload, nominee.room.spec.strategy == "BestEffortFIFO"
    scan = _progress(nominee)
    untried = any(at != -1 for stopped in scan for at in stopped.values())
    parks = nominee.outcome == "elsewhere" or (
        best_effort and not untried and nominee.outcome in (*_PARKED_ALONE, *_PARKED_TOGETHER)
    )
    held = _held(nominee, parked=parks)
    known, *_ = run_of.scanned.get(workload.key, (workload.scan, 0, 0))
    sticks = nominee.outcome == "deferred" and not _is_sticky(run_of, nominee)
    if parks or sticks or workload.held is None or workload.held.reason != held.reason:
        together = parks and nominee.outcome in _PARKED_TOGETHER and _by_shape(run_of)
        run_of.scanned.pop(workload.key, None)
        _tell(run_of, nominee, held, scan=scan if untried else (), together=together)
        return True
    if untried or known:  # the same place, too: it is as old as the cycle that found it
        run_of.scanned[workload.key] = scan if untried else (), run_of.cycle, run_of.draft.seq
    return nominee.outcome == "preempting"


def tell_scans(run_of: Pass) -> None:
    """Kueue's way: tell how far scans got in cycles that changed nothing else."""
    draft = run_of.draft
    for key, (scan, cycle, _) in run_of.scanned.items():
        workload = draft.workloads.get(key)
        if workload is None or workload.held is None or workload.shape is None:
            continue
        again = WorkloadPending(
            at_us=draft.now_us,
            workload=key,
            uid=workload.uid,
            cluster_queue=workload.cluster_queue,
            reason=workload.held.reason,
            message=sentence(workload.held.reason, None),
            scan=scan,
            cycle=cycle,
        )
        run_of.tell(again)
    run_of.scanned = {}


def _is_sticky(run_of: Pass, nominee: Nominee) -> bool:
    return run_of.draft.sticky.get(nominee.room.name) == nominee.workload.key


def _progress(nominee: Nominee) -> tuple[dict[str, int], ...]:
    if nominee.proposal is None or nominee.outcome in ("preempting", "deferred"):
        return ()
    return nominee.proposal.assignment.scan


def _by_shape(run_of: Pass) -> bool:
    return gate(run_of.draft.policy, "SchedulingEquivalenceHashing", default=True)


def _held(nominee: Nominee, *, parked: bool) -> Held:
    assignment = None if nominee.proposal is None else nominee.proposal.assignment
    return Held(
        reason=nominee.reason,
        tried=kinds(assignment),
        parked=parked,
    )


def _tell(
    run_of: Pass,
    nominee: Nominee,
    held: Held,
    *,
    scan: tuple[dict[str, int], ...] = (),
    together: bool = False,
) -> None:
    draft, workload, room, shape = (
        run_of.draft,
        nominee.workload,
        nominee.room,
        nominee.workload.shape,
    )
    said, message = _words(draft, nominee, held)
    said, guaranteed = trace(draft, room, workload, said)
    run_of.tell(
        WorkloadPending(
            at_us=draft.now_us,
            workload=workload.key,
            uid=workload.uid,
            cluster_queue=room.name,
            reason=held.reason,
            tried=said,
            message=f"{message} {guaranteed}" if guaranteed else message,
            parked=held.parked,
            shape=sha256(shape.key).hexdigest()[:_SHAPE_DIGITS] if together and shape else "",
            scan=scan,
            cycle=run_of.number,
        )
    )


def _words(draft: Draft, nominee: Nominee, held: Held) -> tuple[tuple[FlavorTried, ...], str]:
    """Return what was tried with the amounts of this moment, and all as one sentence."""
    workload, room = nominee.workload, nominee.room
    if nominee.proposal is None:
        return (), sentence(held.reason, None, nominee.details)
    assignment = nominee.proposal.assignment
    said = tried(draft, room, workload, assignment)
    return said, sentence(held.reason, assignment, nominee.details)
