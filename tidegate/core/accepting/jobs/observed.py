"""Turns an observed job into facts: its requests, its state, its end and its deletion."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tidegate.contracts.fact_kinds.clusters import HomeGone
from tidegate.contracts.facts import (
    FactEvent,
    JobStateReported,
    PodsReadyReported,
    PodsReclaimed,
    WorkloadChanged,
    WorkloadRemoved,
    WorkloadStopped,
)
from tidegate.contracts.observations import JobObserved
from tidegate.core.accepting.jobs import copies, identity, mismatches, siblings
from tidegate.core.accepting.jobs.adoption import adopt_handed_over, has_synced
from tidegate.core.accepting.jobs.fields import (
    event_fields,
    fact_fields,
    finished_fact,
    is_idle,
    is_ready,
    is_template_restored,
    mutable_fields,
    reference_of,
    state_key,
    submission_fact,
    was_activated_unseen,
)
from tidegate.core.accepting.relevance import (
    has_ended,
    is_foreign_job,
    is_outdated,
    is_own_queue,
    is_stopped_by_other,
    local_queue_of,
    record_removal,
    remember_version,
    removal_reason,
    skip_outdated,
)
from tidegate.core.accepting.reports import report_checks, report_nomination
from tidegate.core.queueing.siblings import acting_variant
from tidegate.core.state.desired_state import is_stopped
from tidegate.core.state.state import State, Workload
from tidegate.model.clusters import cluster_of


def accept_job(state: State, at_us: int, resource: str, job: JobObserved) -> Iterator[FactEvent]:
    """Yield the facts of an observed job, each to be folded before the next is taken."""
    if job.uid in state.copies or (job.copy is not None and cluster_of(job.workload)):
        yield from copies.accept_copy(state, at_us, resource, job)
        return
    if job.copy is not None:  # no copy runs in the ledger's own cluster, whatever the mark says
        job = replace(job, copy=None, queue="")
    workload = state.workloads.get(state.by_uid.get(job.uid, ""))
    job = identity.counted_job(state, job)
    if is_foreign_job(state, job):
        if workload is None and job.uid not in state.strays:
            return
        job = replace(job, stray=None)
    entry = workload or state.strays.get(job.uid)
    if is_outdated(state, resource, job, None if entry is None else entry.version):
        return
    yield from _accept_job(state, at_us, resource, job, workload)
    yield from adopt_handed_over(state, at_us, job)
    if job.stray is not None or job.uid in state.strays:
        yield from copies.report_stray(state, at_us, resource, job)


def _accept_job(
    state: State, at_us: int, resource: str, job: JobObserved, workload: Workload | None
) -> Iterator[FactEvent]:
    if workload is None:
        yield from _submit(state, at_us, resource, job)
    elif identity.is_prebuilt_unread(job):
        return  # its prebuilt Workload was not read yet: the known state stands
    elif copies.lacks_end(state, job, workload) and not siblings.is_slice_replaced(state, workload):
        yield from remove_workloads(state, at_us, workload, job.version)
        yield from _submit(state, at_us, resource, job)
    elif _needs_another(state, job, workload) and not siblings.is_out_of_sync(state, job, workload):
        remember_version(state, job)
        yield from _replace_workload(state, at_us, job, workload)
    else:
        remember_version(state, job)
        yield from _update(state, at_us, job, workload)


def _needs_another(state: State, job: JobObserved, workload: Workload) -> bool:
    """Tell whether a job needs another workload now: it names one, or became elastic or not."""
    if (job.elastic or workload.elastic) and not (job.prebuilt or workload.prebuilt):
        return workload.elastic != siblings.is_elastic(state, job) and is_idle(workload)
    return workload.key != job.workload or identity.needs_new_workload(job, workload)


def remove_job(
    state: State, at_us: int, workload: Workload, version: int
) -> Iterator[WorkloadRemoved | HomeGone]:
    """Yield that a job was deleted, with all its workloads, and remember its uid as deleted."""
    record_removal(state, workload.resource, workload.job, version)
    if workload.body and copies.has_surviving_copy(state, workload):
        yield from copies.report_home_gone(at_us, workload, version)
    else:
        yield from remove_workloads(state, at_us, workload, version)


def remove_workloads(
    state: State, at_us: int, workload: Workload, version: int, reason: str = ""
) -> Iterator[WorkloadRemoved]:
    """Yield the removal of all workloads of a job, which may still exist."""
    for other in list(siblings.other_slices(state, workload)):
        yield _remove_workload(state, at_us, other, version, reason)
    yield _remove_workload(state, at_us, workload, version, reason)


def _remove_workload(
    state: State, at_us: int, workload: Workload, version: int, reason: str = ""
) -> WorkloadRemoved:
    """Return the removal of one workload, whose object may still exist."""
    identity.workloads_by_name(state).pop(identity.job_name(workload.job), None)
    return WorkloadRemoved(**fact_fields(at_us, workload), version=version, reason=reason)


def _replace_workload(
    state: State, at_us: int, job: JobObserved, workload: Workload
) -> Iterator[FactEvent]:
    """Replace a job's workload by another once the job has stopped: a prebuilt one came or went.

    Also waits until its template is restored: the order to restore it goes with the old workload.
    """
    restoring = workload.order is not None and workload.order.kind == "stop" and job.state.injected
    if restoring or not is_idle(workload):
        was_stopped = is_stopped(state, workload)
        yield from _update(state, at_us, replace(job, active=False), workload)
        ended = workload.phase == "finished" or state.workloads.get(workload.key) is not workload
        if restoring or ended or was_stopped or not is_stopped(state, workload, job.state):
            return
    yield from remove_workloads(state, at_us, workload, job.version)
    yield from _submit(state, at_us, workload.resource, job)


def _submit(state: State, at_us: int, resource: str, job: JobObserved) -> Iterator[FactEvent]:
    job = copies.without_home_state(job) if job.body else job
    reference = reference_of(job)
    is_waiting = identity.is_represented(state, job) or identity.is_slice_awaited(state, job)
    if is_waiting or identity.is_key_taken(state, reference, job.workload):
        identity.suspect_deleted(state, resource, job)
        return
    taken_over = identity.adopt_assignment(state, at_us, job)
    for namesake in identity.namesakes(state, reference, job.workload):
        if identity.is_own_prebuilt(job, namesake):
            yield _remove_workload(state, at_us, namesake, job.version)
            continue
        if job.version < namesake.version:  # outdated
            skip_outdated(state, resource, job, namesake.version, suspected=True)
            return
        yield from remove_job(state, at_us, namesake, job.version)
    if not _is_managed(state, job) or has_ended(job) or _is_terminating(job):
        return
    remember_version(state, job)
    identity.workloads_by_name(state)[identity.job_name(reference)] = job.workload
    elastic = siblings.is_elastic(state, job)
    yield submission_fact(at_us, resource, job, reference, elastic=elastic)
    workload = state.workloads.get(job.workload)
    if workload is None or workload.uid != job.uid:
        return
    if job.finished:
        yield finished_fact(at_us, job, workload)
        return
    yield from taken_over
    yield from _first_report(state, at_us, job, workload)


def _first_report(
    state: State, at_us: int, job: JobObserved, workload: Workload
) -> Iterator[FactEvent]:
    if is_ready(workload, job.state):
        yield PodsReadyReported(**fact_fields(at_us, workload), ready=True)
    if job.checks:
        yield from report_checks(state, at_us, job, acting_variant(state, workload))


def _update(state: State, at_us: int, job: JobObserved, workload: Workload) -> Iterator[FactEvent]:
    job = copies.without_home_state(job) if workload.body else job
    if _is_terminating(job):
        state.dedup.terminating[job.uid] = job.version
        yield from remove_job(state, at_us, workload, job.version)
        return
    if not _is_managed(state, job) and (is_idle(workload) or is_stopped_by_other(state, job)):
        yield from remove_workloads(state, at_us, workload, job.version, removal_reason(state, job))
        return  # it may name a queue again
    if workload.phase == "finished":
        yield from _report_finished(state, at_us, job, workload)
        return
    if siblings.has_own_slices(workload):
        yield from siblings.update_slice(state, at_us, job, workload)
    # While a copy may run, the copy's end is the workload's end.
    if job.finished and not (workload.body and copies.has_surviving_copy(state, workload)):
        yield finished_fact(at_us, job, workload)
    yield from copies.report_end_shown(at_us, job, workload)
    if job.finished:
        return
    yield from _report_change(state, at_us, job, workload)
    yield from (_report if not workload.body else mismatches.report_mismatch)(
        state, at_us, job, workload
    )


def _report_finished(
    state: State, at_us: int, job: JobObserved, workload: Workload
) -> Iterator[FactEvent]:
    if workload.out_of_sync:  # its job must not run
        yield from _report_state(at_us, job, workload)
    elif siblings.is_out_of_sync(state, job, workload):
        yield siblings.out_of_sync_fact(at_us, job, workload)
    yield from copies.report_end_shown(at_us, job, workload)


def _report_change(
    state: State, at_us: int, job: JobObserved, workload: Workload
) -> Iterator[FactEvent]:
    if was_activated_unseen(state, job, workload):
        yield from _report_change(state, at_us, replace(job, active=False), workload)
    # The template of a job that runs, or is being stopped, has what its start injected, and its
    # queue cannot change; both are read again once the template is as its owner wrote it. Podsets
    # of a prebuilt Workload are in that object, and are unknown until it was read.
    settled = is_template_restored(job, workload) and _is_managed(state, job)
    charged = mismatches.must_stay_charged(state, job, workload)
    podsets = job.podsets if (settled and not charged) or not workload.podsets else workload.podsets
    queue = job.queue if settled else workload.queue
    if siblings.is_elastic_with_quota(workload):
        podsets = siblings.scaled_down_podsets(job, workload)
    # Another controller's reservation matters only until the workloads it admitted are adopted.
    by = workload if has_synced(state) else job
    unchanged = (by.held_quota, by.held_places) == (workload.held_quota, workload.held_places)
    replaces = (
        workload.replaces
        if siblings.is_elastic_with_quota(workload) or siblings.has_own_slices(workload)
        else job.replaces
    )
    same = all(getattr(workload, name) == value for name, value in mutable_fields(job).items())
    before = workload.own_priority, workload.queue, workload.podsets, workload.replaces
    unchanged = unchanged and job.body in {"", workload.body} and not workload.home_gone
    if same and unchanged and before == (job.priority, queue, podsets, replaces):
        return
    yield WorkloadChanged(
        workload=workload.key,
        uid=workload.uid,
        queue=queue,
        podsets=podsets,
        elastic=workload.elastic,
        has_variants=bool(workload.variants),
        body=job.body or workload.body,
        held_quota=by.held_quota,
        held_places=by.held_places,
        **event_fields(at_us, job, replaces),
    )


def _report(state: State, at_us: int, job: JobObserved, workload: Workload) -> Iterator[FactEvent]:
    if job.reclaimable != workload.reclaimable:
        yield PodsReclaimed(**fact_fields(at_us, workload), reclaimable=job.reclaimable)
    if job.checks:
        yield from report_checks(state, at_us, job, acting_variant(state, workload))
    if state.policy.multikueue is not None:
        yield from report_nomination(state, at_us, job, workload)
    yield from mismatches.report_mismatch(state, at_us, job, workload)
    was_stopped = is_stopped(state, workload)
    yield from _report_state(at_us, job, workload)
    yield from mismatches.report_forged(state, at_us, job, workload)
    ready = is_ready(acting_variant(state, workload), job.state)
    if ready != workload.ready:
        yield PodsReadyReported(**fact_fields(at_us, workload), ready=ready)
    if is_stopped(state, workload, job.state) and not was_stopped:
        yield WorkloadStopped(**fact_fields(at_us, workload))
        if not _is_managed(state, job):  # its queue label was removed while it ran
            yield from remove_workloads(
                state, at_us, workload, job.version, removal_reason(state, job)
            )


def _report_state(at_us: int, job: JobObserved, workload: Workload) -> Iterator[JobStateReported]:
    if state_key(job.state) != state_key(workload.state):
        yield JobStateReported(**fact_fields(at_us, workload), version=job.version, state=job.state)


def _is_managed(state: State, job: JobObserved) -> bool:
    asks = job.queue or (state.policy.manage_jobs_without_queue_name and job.podsets)
    return bool(asks) and is_own_queue(state, local_queue_of(job))


def _is_terminating(job: JobObserved) -> bool:
    return job.state.deleting and job.state.active == 0
