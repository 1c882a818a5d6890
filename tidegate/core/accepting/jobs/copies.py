"""Objects without a workload of their own: copies of placed jobs, and strays, which must not run.

In the cluster where its job has quota, a copy's state is that job's. A job whose copy may run stays
in the ledger, with its quota, after its deletion at home, until the copy is gone. The state of a
placed job at home, and its unsuspension there, do not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec.structs import replace

from tidegate.contracts.fact_kinds.clusters import CopyRemoved, CopyReported, EndShown, HomeGone
from tidegate.contracts.facts import (
    FactEvent,
    PodsReadyReported,
    PodsReclaimed,
    StrayCleared,
    StrayReported,
    WorkloadFinished,
    WorkloadRemoved,
)
from tidegate.contracts.observations import ActuationReported, JobObserved, JobState
from tidegate.contracts.observed.clusters import CopySeen
from tidegate.contracts.phases import HOLDING
from tidegate.core.accepting.jobs.fields import (
    fact_fields,
    is_ready,
    is_unfinished_again,
    reference_of,
    state_key,
    without_uncounted,
)
from tidegate.core.accepting.jobs.mismatches import report_copy_mismatch
from tidegate.core.accepting.relevance import (
    is_foreign_job,
    is_outdated,
    record_removal,
    remember_version,
)
from tidegate.core.members.placement import has_current_copy, is_copy_of, is_current_copy
from tidegate.core.state.remotes import Copy
from tidegate.core.state.state import State, Stray, Workload

_WITHOUT_QUOTA = "pending", "inactive"
_UNMARKED = "It is not marked as a copy any more."


def accept_copy(state: State, at_us: int, resource: str, job: JobObserved) -> Iterator[FactEvent]:
    """Yield the facts of an observed copy, each to be folded before the next is taken.

    It stays the copy of the same job as when it was first observed, whatever its marks say later.
    """
    job, copy = without_uncounted(state, job), state.copies.get(job.uid)
    if is_foreign_job(state, job) and copy is None:
        return
    if copy is not None:
        if job.copy is None:
            job = replace(job, stray="Unreadable", message=_UNMARKED)
        status = copy.status if job.copy is None else job.copy.status
        job = replace(job, copy=CopySeen(origin=copy.origin, status=status))
    assert job.copy is not None, "a job without origin is no copy: it has a workload of its own"
    if is_outdated(state, resource, job, None if copy is None else copy.version):
        return
    remember_version(state, job)
    workload = state.workloads.get(state.by_uid.get(job.copy.origin, ""))
    ready = workload is not None and is_ready(workload, job.state)
    # The status was published for the workload before, which was removed with it.
    ends = bool(job.finished) and workload is not None and workload.phase in _WITHOUT_QUOTA
    if copy is None or ends or _has_changed(job, copy, ready=ready):
        yield _copy_fact(at_us, resource, job, workload, ready=ready)
    copy = state.copies[job.uid]
    if workload is not None and _is_authoritative(workload, copy):
        yield from _update_workload(at_us, job, workload, ready=ready)
        if not job.finished:
            yield from report_copy_mismatch(at_us, job, workload)


def _copy_fact(
    at_us: int, resource: str, job: JobObserved, workload: Workload | None, *, ready: bool
) -> CopyReported:
    assert job.copy is not None
    return CopyReported(
        at_us=at_us,
        workload="" if workload is None else workload.key,
        uid=job.copy.origin,
        copy=reference_of(job),
        resource=resource,
        queue=job.queue,
        version=job.version,
        state=job.state,
        ready=ready,
        finished=job.finished,
        message=job.message,
        status=job.copy.status,
    )


def _has_changed(job: JobObserved, copy: Copy, *, ready: bool) -> bool:
    assert job.copy is not None
    if state_key(job.state) != state_key(copy.state):
        return True
    return (job.copy.status, job.finished, ready) != (copy.status, copy.finished, copy.ready)


def _is_authoritative(workload: Workload, copy: Copy) -> bool:
    """Tell whether a copy's state is that of its workload.

    For a workload without quota only the copy's end counts: the job need not run again.
    """
    if workload.phase in HOLDING:
        return is_current_copy(workload, copy)
    ended = workload.phase in _WITHOUT_QUOTA and bool(copy.finished)
    return ended and is_copy_of(workload, copy)


def _update_workload(
    at_us: int, job: JobObserved, workload: Workload, *, ready: bool
) -> Iterator[FactEvent]:
    if job.finished:
        yield WorkloadFinished(
            **fact_fields(at_us, workload), reason=job.finished, message=job.message
        )
        return
    if job.reclaimable != workload.reclaimable:
        yield PodsReclaimed(**fact_fields(at_us, workload), reclaimable=job.reclaimable)
    if ready != workload.ready:
        yield PodsReadyReported(**fact_fields(at_us, workload), ready=ready)


def remove_copy(state: State, at_us: int, copy: Copy, version: int) -> Iterator[FactEvent]:
    """Yield that a copy was deleted, and its workload's end if the job has ended or gone at home.

    After the loss of the ledger's newest events the end at home may be all that is left of it.
    """
    record_removal(state, copy.resource, copy.ref, version)
    workload = state.workloads.get(state.by_uid.get(copy.origin, ""))
    yield CopyRemoved(
        at_us=at_us,
        workload="" if workload is None else workload.key,
        uid=copy.origin,
        copy=copy.ref,
        version=version,
    )
    if workload is None or has_current_copy(state, workload):
        return
    if workload.home_gone:
        yield WorkloadRemoved(**fact_fields(at_us, workload))
    elif workload.end_shown and workload.phase in HOLDING:
        yield WorkloadFinished(
            **fact_fields(at_us, workload),
            reason=workload.end_shown,
            message=workload.end_message,
        )


def reported_workload(state: State, report: ActuationReported) -> Workload | None:
    """Return the workload whose order a report is about; None: there is none.

    A report about a copy counts only from the cluster in which its job has quota.
    """
    copy = state.copies.get(report.job.uid)
    origin = report.origin or ("" if copy is None else copy.origin)
    if not origin:
        return state.workloads.get(state.by_uid.get(report.job.uid, report.workload))
    workload = state.workloads.get(state.by_uid.get(origin, ""))
    if workload is None or workload.cluster != report.job.cluster:
        return None
    return workload


def remove_unlisted_copies(
    state: State, at_us: int, resource: str, present: Collection[str], until: int | None
) -> Iterator[FactEvent]:
    """Yield the removal of copies that a list lacks; ``until``: the newest version it covers."""
    for uid, copy in list(state.copies.items()):
        newer = until is not None and max(copy.version, state.dedup.versions.get(uid, 0)) > until
        if copy.resource == resource and uid not in present and not newer:
            yield from remove_copy(state, at_us, copy, copy.version if until is None else until)


def report_home_gone(at_us: int, workload: Workload, version: int) -> Iterator[HomeGone]:
    """Yield that a job was deleted at home, if not recorded yet: its copy is deleted first."""
    if not workload.home_gone:
        yield HomeGone(**fact_fields(at_us, workload), version=version)


def has_surviving_copy(state: State, workload: Workload) -> bool:
    """Tell whether a placed job, deleted at home, keeps its workload: a copy of it may run."""
    return workload.phase in HOLDING and has_current_copy(state, workload)


def lacks_end(state: State, job: JobObserved, workload: Workload) -> bool:
    """Tell whether a job whose workload has finished is unfinished again, as after a restore.

    A placed job that does not show its copy's end yet, or shows it no longer while there is that
    copy, is to show it: its workload stays finished.
    """
    if workload.body and (not workload.end_shown or has_current_copy(state, workload)):
        return False
    return is_unfinished_again(job, workload)


def without_home_state(job: JobObserved) -> JobObserved:
    """Return a placed job's observation at home without what does not count: its state there."""
    home_state = JobState(deleting=job.state.deleting, generation=job.state.generation)
    return replace(job, state=home_state, reclaimable={}, checks=(), nominated=())


def report_end_shown(at_us: int, job: JobObserved, workload: Workload) -> Iterator[EndShown]:
    """Yield that a placed job at home shows its copy's end, or shows none any more, if it is news.

    After the loss of the ledger's newest events it may be observed before that end, and only once;
    a cluster that was restored from a backup shows it no longer.
    """
    may_be_placed = workload.phase == "finished" or workload.phase in HOLDING
    if workload.body and may_be_placed and job.finished != workload.end_shown:
        yield EndShown(
            **fact_fields(at_us, workload),
            version=job.version,
            reason=job.finished,
            message=job.message,
        )


def report_stray(
    state: State, at_us: int, resource: str, job: JobObserved
) -> Iterator[StrayReported | StrayCleared]:
    """Yield that a stray runs, that its state changed, or that it is no stray any more.

    An object that was never observed running is no stray, nor is one that has a workload.
    """
    stray = state.strays.get(job.uid)
    if job.stray is None or job.uid in state.by_uid:
        if stray is not None:
            yield _cleared_fact(at_us, job.uid, stray)
        return
    runs = not job.state.suspended and not job.state.deleting
    before = None if stray is None else (stray.reason, _stray_state(stray.state))
    if (stray is None and not runs) or before == (job.stray, _stray_state(job.state)):
        return
    yield StrayReported(
        at_us=at_us,
        workload=job.workload,
        uid=job.uid,
        job=reference_of(job),
        resource=resource,
        version=job.version,
        reason=job.stray,
        message=job.message,
        state=job.state,
    )


def clear_stray(state: State, at_us: int, uid: str) -> Iterator[StrayCleared]:
    """Yield that a stray was deleted, if ``uid`` is one's."""
    stray = state.strays.get(uid)
    if stray is not None:
        yield _cleared_fact(at_us, uid, stray)


def clear_unlisted_strays(
    state: State, at_us: int, resource: str, present: Collection[str], until: int | None
) -> Iterator[StrayCleared]:
    """Yield the deletion of strays that a list lacks; ``until``: the newest version it covers."""
    for uid, stray in list(state.strays.items()):
        newer = until is not None and stray.version > until
        if stray.resource == resource and uid not in present and not newer:
            yield _cleared_fact(at_us, uid, stray)


def _cleared_fact(at_us: int, uid: str, stray: Stray) -> StrayCleared:
    return StrayCleared(at_us=at_us, workload=stray.key, uid=uid)


def _stray_state(state: JobState) -> tuple[bool, bool, str]:
    return state.suspended, state.deleting, state.decision
