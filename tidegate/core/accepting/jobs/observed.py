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
from tidegate.core.accepting.jobs import identity, siblings
from tidegate.core.accepting.jobs.adoption import adopt_running, is_complete
from tidegate.core.accepting.jobs.copies import (
    at_home,
    follow_stray,
    is_outlived,
    outlives,
    shown,
    take_copy,
)
from tidegate.core.accepting.jobs.fields import (
    ended,
    event_fields,
    fact_about,
    is_activated_unseen,
    is_idle,
    is_ready,
    is_settled,
    lives_again,
    mutable_fields,
    reference_of,
    state_key,
    submitted,
)
from tidegate.core.accepting.jobs.identity import is_taken, name, names, namesakes
from tidegate.core.accepting.jobs.mismatches import compare, forged, is_charged
from tidegate.core.accepting.relevance import (
    is_ours,
    is_outdated,
    is_over,
    is_stopped_elsewhere,
    local_queue_of,
    note,
    pass_over,
    passes_by,
    record_removal,
    why,
)
from tidegate.core.accepting.reports import report_checks, report_nomination
from tidegate.core.queueing.siblings import acting
from tidegate.core.state.desired_state import is_stopped
from tidegate.core.state.state import State, Workload
from tidegate.model.clusters import cluster_of


def take_job(state: State, at_us: int, resource: str, job: JobObserved) -> Iterator[FactEvent]:
    """Yield the facts of an observed job, each to be folded before the next is taken."""
    if job.uid in state.copies or (job.copy is not None and cluster_of(job.workload)):
        yield from take_copy(state, at_us, resource, job)
        return
    if job.copy is not None:  # no copy runs in the ledger's own cluster, whatever the mark says
        job = replace(job, copy=None, queue="")
    workload = state.workloads.get(state.by_uid.get(job.uid, ""))
    job = identity.with_place(state, job)
    if passes_by(state, job):
        if workload is None and job.uid not in state.strays:
            return
        job = replace(job, stray=None)
    entry = workload or state.strays.get(job.uid)
    if is_outdated(state, resource, job, None if entry is None else entry.version):
        return
    yield from _take(state, at_us, resource, job, workload)
    yield from adopt_running(state, at_us, job)
    if job.stray is not None or job.uid in state.strays:
        yield from follow_stray(state, at_us, resource, job)


def _take(
    state: State, at_us: int, resource: str, job: JobObserved, workload: Workload | None
) -> Iterator[FactEvent]:
    if workload is None:
        yield from _submit(state, at_us, resource, job)
    elif identity.is_unclear(job):
        return  # its prebuilt Workload was not read yet: the known state stands
    elif lives_again(job, workload) and not siblings.is_replaced(state, workload):
        yield from let_go_all(state, at_us, workload, job.version)
        yield from _submit(state, at_us, resource, job)
    elif _is_another(state, job, workload) and not siblings.has_outgrown(state, job, workload):
        note(state, job)
        yield from _become(state, at_us, job, workload)
    else:
        note(state, job)
        yield from _update(state, at_us, job, workload)


def _is_another(state: State, job: JobObserved, workload: Workload) -> bool:
    """Tell whether a job needs another workload now: it names one, or became elastic or not."""
    if (job.elastic or workload.elastic) and not (job.prebuilt or workload.prebuilt):
        return workload.elastic != siblings.is_elastic(state, job) and is_idle(workload)
    return workload.key != job.workload or identity.is_anew(job, workload)


def remove_job(
    state: State, at_us: int, workload: Workload, version: int
) -> Iterator[WorkloadRemoved | HomeGone]:
    """Yield that a job was deleted, with all its workloads, and remember its uid as deleted."""
    record_removal(state, workload.resource, workload.job, version)
    if workload.body and is_outlived(state, workload):
        yield from outlives(at_us, workload, version)
    else:
        yield from let_go_all(state, at_us, workload, version)


def let_go_all(
    state: State, at_us: int, workload: Workload, version: int, reason: str = ""
) -> Iterator[WorkloadRemoved]:
    """Yield the removal of all workloads of a job, which may still exist."""
    for other in list(siblings.family(state, workload)):
        yield _let_go(state, at_us, other, version, reason)
    yield _let_go(state, at_us, workload, version, reason)


def _let_go(
    state: State, at_us: int, workload: Workload, version: int, reason: str = ""
) -> WorkloadRemoved:
    """Return the removal of one workload, whose object may still exist."""
    names(state).pop(name(workload.job), None)
    return WorkloadRemoved(**fact_about(at_us, workload), version=version, reason=reason)


def _become(state: State, at_us: int, job: JobObserved, workload: Workload) -> Iterator[FactEvent]:
    """Replace a job's workload by another once the job has stopped: a prebuilt one came or went.

    Also waits until its template is restored: the order to restore it goes with the old workload.
    """
    restoring = workload.order is not None and workload.order.kind == "stop" and job.state.injected
    if restoring or not is_idle(workload):
        was_stopped = is_stopped(state, workload)
        yield from _update(state, at_us, replace(job, active=False), workload)
        over = workload.phase == "finished" or state.workloads.get(workload.key) is not workload
        if restoring or over or was_stopped or not is_stopped(state, workload, job.state):
            return
    yield from let_go_all(state, at_us, workload, job.version)
    yield from _submit(state, at_us, workload.resource, job)


def _submit(state: State, at_us: int, resource: str, job: JobObserved) -> Iterator[FactEvent]:
    job = at_home(job) if job.body else job
    reference = reference_of(job)
    waits = identity.is_represented(state, job) or identity.is_awaited(state, job)
    if waits or is_taken(state, reference, job.workload):
        identity.doubt(state, resource, job)
        return
    taken_over = identity.adopt_assignment(state, at_us, job)
    for namesake in namesakes(state, reference, job.workload):
        if identity.is_its_own(job, namesake):
            yield _let_go(state, at_us, namesake, job.version)
            continue
        if job.version < namesake.version:  # outdated
            pass_over(state, resource, job, namesake.version, doubted=True)
            return
        yield from remove_job(state, at_us, namesake, job.version)
    if not _is_managed(state, job) or is_over(job) or _is_going(job):
        return
    note(state, job)
    names(state)[name(reference)] = job.workload
    elastic = siblings.is_elastic(state, job)
    yield submitted(at_us, resource, job, reference, elastic=elastic)
    workload = state.workloads.get(job.workload)
    if workload is None or workload.uid != job.uid:
        return
    if job.finished:
        yield ended(at_us, job, workload)
        return
    yield from taken_over
    yield from _first_report(state, at_us, job, workload)


def _first_report(
    state: State, at_us: int, job: JobObserved, workload: Workload
) -> Iterator[FactEvent]:
    if is_ready(workload, job.state):
        yield PodsReadyReported(**fact_about(at_us, workload), ready=True)
    if job.checks:
        yield from report_checks(state, at_us, job, acting(state, workload))


def _update(state: State, at_us: int, job: JobObserved, workload: Workload) -> Iterator[FactEvent]:
    job = at_home(job) if workload.body else job
    if _is_going(job):
        state.dedup.leaving[job.uid] = job.version
        yield from remove_job(state, at_us, workload, job.version)
        return
    if not _is_managed(state, job) and (is_idle(workload) or is_stopped_elsewhere(state, job)):
        yield from let_go_all(state, at_us, workload, job.version, why(state, job))
        return  # it may name a queue again
    if workload.phase == "finished":
        yield from _remain(state, at_us, job, workload)
        return
    if siblings.is_made(workload):
        yield from siblings.follow(state, at_us, job, workload)
    if job.finished:
        if not (workload.body and is_outlived(state, workload)):  # else its copy's end is its end
            yield ended(at_us, job, workload)
        yield from shown(at_us, job, workload) if workload.body else ()
        return
    yield from _change(state, at_us, job, workload)
    yield from (_report if not workload.body else compare)(state, at_us, job, workload)


def _remain(state: State, at_us: int, job: JobObserved, workload: Workload) -> Iterator[FactEvent]:
    if workload.out_of_sync:  # its job must not run
        yield from _report_state(at_us, job, workload)
    elif siblings.has_outgrown(state, job, workload):
        yield siblings.out_of_sync(at_us, job, workload)
    if workload.body:
        yield from shown(at_us, job, workload)


def _change(state: State, at_us: int, job: JobObserved, workload: Workload) -> Iterator[FactEvent]:
    if is_activated_unseen(state, job, workload):
        yield from _change(state, at_us, replace(job, active=False), workload)
    # The template of a job that runs, or is being stopped, has what its start injected, and its
    # queue cannot change; both are read again once the template is as its owner wrote it. Podsets
    # of a prebuilt Workload are in that object, and are unknown until it was read.
    settled = is_settled(job, workload) and _is_managed(state, job)
    charged = is_charged(state, job, workload)
    podsets = job.podsets if (settled and not charged) or not workload.podsets else workload.podsets
    queue = job.queue if settled else workload.queue
    if siblings.holds(workload):
        podsets = siblings.shrunk(job, workload)
    # Another controller's reservation matters only until the workloads it admitted are adopted.
    by = workload if is_complete(state) else job
    stood = (by.held_quota, by.held_places) == (workload.held_quota, workload.held_places)
    replaces = (
        workload.replaces
        if siblings.holds(workload) or siblings.is_made(workload)
        else job.replaces
    )
    same = all(getattr(workload, name) == value for name, value in mutable_fields(job).items())
    before = workload.own_priority, workload.queue, workload.podsets, workload.replaces
    stood = stood and job.body in {"", workload.body} and not workload.home_gone
    if same and stood and before == (job.priority, queue, podsets, replaces):
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
        yield PodsReclaimed(**fact_about(at_us, workload), reclaimable=job.reclaimable)
    if job.checks:
        yield from report_checks(state, at_us, job, acting(state, workload))
    if state.policy.multikueue is not None:
        yield from report_nomination(state, at_us, job, workload)
    yield from compare(state, at_us, job, workload)
    was_stopped = is_stopped(state, workload)
    yield from _report_state(at_us, job, workload)
    yield from forged(state, at_us, job, workload)
    ready = is_ready(acting(state, workload), job.state)
    if ready != workload.ready:
        yield PodsReadyReported(**fact_about(at_us, workload), ready=ready)
    if is_stopped(state, workload, job.state) and not was_stopped:
        yield WorkloadStopped(**fact_about(at_us, workload))
        if not _is_managed(state, job):  # its queue label was removed while it ran
            yield from let_go_all(state, at_us, workload, job.version, why(state, job))


def _report_state(at_us: int, job: JobObserved, workload: Workload) -> Iterator[JobStateReported]:
    if state_key(job.state) != state_key(workload.state):
        yield JobStateReported(**fact_about(at_us, workload), version=job.version, state=job.state)


def _is_managed(state: State, job: JobObserved) -> bool:
    asks = job.queue or (state.policy.manage_jobs_without_queue_name and job.podsets)
    return bool(asks) and is_ours(state, local_queue_of(job))


def _is_going(job: JobObserved) -> bool:
    return job.state.deleting and job.state.active == 0
