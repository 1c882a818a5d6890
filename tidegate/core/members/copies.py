"""Folds events about the copies of placed jobs, and orders the deletion of copies.

The rules are docs/adr/0029.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tidegate.contracts.decision_kinds.copies import (
    NAME_TAKEN,
    CopyOrder,
    CopyOrdered,
    CopyRemovalOrdered,
    RemovalCause,
)
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReleased,
    QuotaReserved,
    StartOrdered,
    WorkloadDecision,
    WorkloadEvicted,
)
from tidegate.contracts.fact_kinds.clusters import (
    CopyEvent,
    CopyRemoved,
    CopyReported,
    EndShown,
    HomeGone,
)
from tidegate.contracts.fact_kinds.definitions import (
    LedgerOpened,
    LocalQueueDefined,
    Named,
    NamespaceDefined,
    NamespaceRemoved,
)
from tidegate.contracts.fact_kinds.reception import RoundCompleted, RoundStarted, WatchesExpected
from tidegate.contracts.facts import (
    JobStateReported,
    WorkloadAdopted,
    WorkloadChanged,
    WorkloadFact,
    WorkloadRemoved,
    WorkloadSubmitted,
)
from tidegate.contracts.observed.jobs import JobState
from tidegate.contracts.phases import HOLDING
from tidegate.core.folding.definitions import requeue_pending
from tidegate.core.folding.observations import apply_observed
from tidegate.core.members.cluster_status import is_open
from tidegate.core.members.placement import copies_of, has_current_copy, is_current_copy
from tidegate.core.state import deadlines
from tidegate.core.state.desired_state import set_repair_deadline
from tidegate.core.state.remotes import Copy
from tidegate.core.state.state import Order, State, Workload
from tidegate.model.clusters import AT, cluster_of

FAMILY = "copy"
"""Deadlines by a copy's uid: when its deletion is to be ordered, or ordered again."""
DOUBLINGS_MAX = 5


def apply_copy(state: State, event: CopyOrder | CopyEvent) -> None:
    """Fold an event about a copy; about an unknown one it changes nothing."""
    workload = state.workloads.get(state.by_uid.get(event.uid, ""))
    match event:
        case CopyReported():
            _fold_report(state, workload, event)
        case CopyRemoved():
            _fold_removal(state, workload, event)
        case CopyRemovalOrdered():
            copy = state.copies.get(event.copy.uid)
            if copy is not None:
                copy.removals = event.attempt
                after_us = state.policy.repair_after_us << min(copy.removals, DOUBLINGS_MAX)
                deadlines.set(state, f"{FAMILY}/{copy.ref.uid}", event.at_us + after_us)
        case CopyOrdered() | EndShown() | HomeGone():
            if workload is not None:
                _fold_workload(state, workload, event)
        case _:
            assert_never(event)


def _fold_workload(
    state: State, workload: Workload, event: CopyOrdered | EndShown | HomeGone
) -> None:
    match event:
        case CopyOrdered():
            workload.order = Order(kind="start", seq=state.seq, at_us=event.at_us, creates=True)
            workload.failure, workload.recovered = None, False
            set_repair_deadline(state, workload)
        case EndShown():
            workload.end_shown, workload.end_message = event.reason, event.message
        case HomeGone():
            workload.home_gone = True
            state.forest.to_reconcile[workload.key] = None
        case _:
            assert_never(event)
    _update_removals(state, workload)


def _fold_report(state: State, workload: Workload | None, event: CopyReported) -> None:
    copy = state.copies.get(event.copy.uid)
    if copy is None:
        copy = Copy(ref=event.copy, origin=event.uid, resource=event.resource)
        state.copies[event.copy.uid] = copy
    copy.version, copy.state = max(copy.version, event.version), event.state
    copy.ready, copy.finished, copy.status = event.ready, event.finished, event.status
    copy.may_run = copy.may_run or not event.state.suspended
    if workload is None:
        _update_removal(state, copy)
        return
    workload.copies[copy.ref.uid] = None
    if workload.phase in HOLDING and is_current_copy(workload, copy):
        _set_job_state(state, workload, event.state)
    _update_removals(state, workload)


def _set_job_state(state: State, workload: Workload, job_state: JobState) -> None:
    """Give a placed job the state of its copy."""
    fact = JobStateReported(
        at_us=state.now_us, workload=workload.key, uid=workload.uid, state=job_state
    )
    apply_observed(state, fact)


def _fold_removal(state: State, workload: Workload | None, event: CopyRemoved) -> None:
    copy = state.copies.pop(event.copy.uid, None)
    deadlines.clear(state, f"{FAMILY}/{event.copy.uid}")
    if workload is None or copy is None:
        return
    workload.copies.pop(event.copy.uid, None)
    _update_stopped(state, workload)
    if workload.phase in HOLDING and is_current_copy(workload, copy):
        workload.ready = False
        _set_job_state(state, workload, JobState())
    set_repair_deadline(state, workload)


def update_placed_job(
    state: State, workload: Workload | None, event: WorkloadFact | WorkloadDecision
) -> None:
    """Update a placed job after an event about it was folded, and check its copies."""
    if isinstance(event, WorkloadRemoved):
        for copy in [each for each in state.copies.values() if each.origin == event.uid]:
            _update_removal(state, copy)
    if workload is None or not workload.body:
        return
    _update_placed_job(state, workload, event)
    _update_removals(state, workload)


def _update_placed_job(
    state: State, workload: Workload, event: WorkloadFact | WorkloadDecision
) -> None:
    match event:
        case WorkloadSubmitted():
            uids = (uid for uid, copy in state.copies.items() if copy.origin == workload.uid)
            workload.copies = dict.fromkeys(uids)
        case WorkloadChanged():
            workload.refused = workload.refused if workload.body == event.body else ()
            workload.body, workload.home_gone = event.body or workload.body, False
        case QuotaReserved() | WorkloadAdopted():
            _set_cluster(state, workload, event.cluster)
        case WorkloadEvicted():
            _update_stopped(state, workload)
            if event.reason == NAME_TAKEN:
                workload.refused = (*workload.refused, workload.cluster)
        case QuotaReleased():
            workload.cluster, workload.ready = "", False
            _set_job_state(state, workload, JobState())
        case StartOrdered() if (ordered := state.copies.get(event.job.uid)) is not None:
            ordered.may_run = True
        case _:
            pass


def _update_stopped(state: State, workload: Workload) -> None:
    """Note whether an evicted placed job has no copy any more in the cluster of its quota."""
    workload.stopped = workload.phase == "evicting" and not has_current_copy(state, workload)
    state.forest.to_reconcile[workload.key] = None


def _set_cluster(state: State, workload: Workload, cluster: str) -> None:
    workload.cluster = cluster
    own = (copy for copy in copies_of(state, workload) if is_current_copy(workload, copy))
    if (copy := next(own, None)) is not None:
        _set_job_state(state, workload, copy.state)
    set_repair_deadline(state, workload)


def recheck_placed_jobs(state: State) -> None:
    """Requeue and check placed jobs, and copies without a job: a member's state has changed."""
    for workload in state.workloads.values():
        if not workload.body:
            continue
        if workload.phase == "pending":
            requeue_pending(state, workload, workload.cluster_queue)
        set_repair_deadline(state, workload)
        state.forest.to_reconcile[workload.key] = None
    for copy in state.copies.values():
        if copy.origin not in state.by_uid:
            _update_removal(state, copy)


def has_placement(state: State, event: Named) -> bool:
    """Tell whether an event's LocalQueue places its jobs in other clusters."""
    queue = state.objects.local_queues.get(f"{event.namespace}/{event.name}")
    return (
        isinstance(event, LocalQueueDefined) and queue is not None and queue.spec.placement == "any"
    )


def update_after_definition(state: State, event: Named, *, had_placement: bool) -> None:
    """Check placed jobs after a change of a member's Namespace or of a LocalQueue's placement.

    If a LocalQueue's placement changed, its pending workloads are queued again.
    """
    if isinstance(event, NamespaceDefined | NamespaceRemoved) and AT in event.name:
        recheck_placed_jobs(state)
    if not isinstance(event, LocalQueueDefined) or had_placement == has_placement(state, event):
        return
    for key in state.by_queue.get(f"{event.namespace}/{event.name}", ()):
        workload = state.workloads[key]
        if workload.phase == "pending":
            requeue_pending(state, workload, workload.cluster_queue)


def update_after_round(
    state: State, event: LedgerOpened | RoundStarted | RoundCompleted | WatchesExpected
) -> None:
    """Check placed jobs after an event that may change which clusters are listed."""
    if state.policy.member_clusters and not isinstance(event, RoundStarted):
        recheck_placed_jobs(state)


def _update_removals(state: State, workload: Workload) -> None:
    """Make the deletion of each copy of a workload due that must go and was not ordered yet."""
    for copy in copies_of(state, workload):
        _update_removal(state, copy)


def _update_removal(state: State, copy: Copy) -> None:
    """Make a copy's deletion due, or clear it; a deletion that was ordered is not taken back."""
    if copy.removals:
        return
    key = f"{FAMILY}/{copy.ref.uid}"
    if _removal_cause(state, copy) is None:
        deadlines.clear(state, key)
    else:
        deadlines.set_due(state, key)


def _removal_cause(state: State, copy: Copy) -> RemovalCause | None:
    """Return why a copy must be deleted; None: it stays, or that is not known yet."""
    workload = state.workloads.get(state.by_uid.get(copy.origin, ""))
    if workload is None:
        home = cluster_of(copy.origin)
        unknown_yet = home in state.policy.member_clusters and not is_open(state, home)
        return None if unknown_yet else "NoWorkload"
    if not is_current_copy(workload, copy):
        return "Elsewhere"
    match workload.phase:
        case "finished":
            return "Finished" if workload.end_shown else None
        case "evicting":
            return "Evicted"
        case "reserved" | "admitted":
            return None
        case _:
            return "Elsewhere"


def order_copy_removals(state: State, uids: list[str]) -> Iterator[list[DecisionEvent]]:
    """Yield the deletion order of each of these copies."""
    for uid in uids:
        copy = state.copies.get(uid)
        if copy is None or not is_open(state, copy.ref.cluster):
            continue
        cause = _removal_cause(state, copy)
        if cause is None and not copy.removals:
            continue
        workload = state.workloads.get(state.by_uid.get(copy.origin, ""))
        yield [
            CopyRemovalOrdered(
                at_us=state.now_us,
                workload="" if workload is None else workload.key,
                uid=copy.origin,
                cluster_queue="" if workload is None else workload.cluster_queue,
                copy=copy.ref,
                reason=cause or "Elsewhere",
                attempt=copy.removals + 1,
            )
        ]
