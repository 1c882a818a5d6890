"""What an observed job changes: what it asks for, how it stands, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tidegate.contracts.facts import (
    FactEvent,
    JobStateReported,
    PodsReadyReported,
    PodsReclaimed,
    WorkloadChanged,
    WorkloadRemoved,
    WorkloadStopped,
    WorkloadSubmitted,
)
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.core.accepting.jobs import prebuilt, slices
from tidegate.core.accepting.jobs.activity import is_activated_unseen, lives_again
from tidegate.core.accepting.jobs.adoption import is_complete
from tidegate.core.accepting.jobs.check_states import report_checks
from tidegate.core.accepting.jobs.mismatches import compare, forged, holds
from tidegate.core.accepting.jobs.namesakes import name, names, namesakes
from tidegate.core.accepting.jobs.workload_fields import asked, ended, told
from tidegate.core.accepting.strays import follow_stray
from tidegate.core.accepting.versions import bury, is_outdated, note, pass_over
from tidegate.core.queueing.variants import acting
from tidegate.core.state.desired_state import is_stopped
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import ObjectRef


def take_job(state: State, at_us: int, resource: str, job: JobObserved) -> Iterator[FactEvent]:
    """Yield what an observed job changes, to be folded before the next is asked for."""
    known = state.workloads.get(state.by_uid.get(job.uid, ""))
    if is_outdated(state, resource, job, _version(state, job, known)):
        return
    yield from _take(state, at_us, resource, job, known)
    yield from follow_stray(state, at_us, resource, job)


def _version(state: State, job: JobObserved, known: Workload | None) -> int | None:
    stray = state.strays.get(job.uid)
    if known is None:
        return None if stray is None else stray.version
    return known.version


def _take(
    state: State, at_us: int, resource: str, job: JobObserved, known: Workload | None
) -> Iterator[FactEvent]:
    if known is None:
        yield from _submit(state, at_us, resource, job)
    elif prebuilt.is_unclear(job):
        return  # what its Workload says is not known yet, and what is known of it stands
    elif lives_again(job, known):
        yield from let_go_all(state, at_us, known, job.version)
        yield from _submit(state, at_us, resource, job)
    elif _is_another(state, job, known):
        note(state, job)
        yield from _become(state, at_us, job, known)
    else:
        note(state, job)
        yield from _update(state, at_us, job, known)


def _is_another(state: State, job: JobObserved, known: Workload) -> bool:
    """Tell whether a job counts as another workload by now: by its Workload, or its elasticity."""
    if job.elastic or known.elastic:
        return known.elastic != slices.is_elastic(state, job) and _is_idle(known)
    return known.key != job.workload or prebuilt.is_anew(job, known)


def remove_job(
    state: State, at_us: int, known: Workload, version: int
) -> Iterator[WorkloadRemoved]:
    """Yield that a job is gone with all its workloads, and remember its uid as gone."""
    bury(state, known.resource, known.job, version)
    yield from let_go_all(state, at_us, known, version)


def let_go_all(
    state: State, at_us: int, known: Workload, version: int, reason: str = ""
) -> Iterator[WorkloadRemoved]:
    """Yield that all workloads of a job are no more, though the job may be there."""
    for one in list(slices.family(state, known)):
        yield _let_go(state, at_us, one, version, reason)
    yield _let_go(state, at_us, known, version, reason)


def _let_go(
    state: State, at_us: int, known: Workload, version: int, reason: str = ""
) -> WorkloadRemoved:
    """Return the fact that a workload is no more, though its object may be there."""
    names(state).pop(name(known.job), None)
    return WorkloadRemoved(
        at_us=at_us, workload=known.key, uid=known.uid, version=version, reason=reason
    )


def _become(state: State, at_us: int, job: JobObserved, known: Workload) -> Iterator[FactEvent]:
    """Let a job be another workload, once it runs no more: its prebuilt one came, or went.

    And once its template is as its owner wrote it: with the workload goes the order to restore it.
    """
    restoring = known.order is not None and known.order.kind == "stop" and job.state.injected
    if restoring or not _is_idle(known):
        was_stopped = is_stopped(state, known)
        yield from _update(state, at_us, replace(job, active=False), known)
        over = known.phase == "finished" or state.workloads.get(known.key) is not known
        if restoring or over or was_stopped or not is_stopped(state, known, job.state):
            return
    for one in (*slices.family(state, known), known):
        yield _let_go(state, at_us, one, job.version)
    yield from _submit(state, at_us, known.resource, job)


def _submit(state: State, at_us: int, resource: str, job: JobObserved) -> Iterator[FactEvent]:
    reference = ObjectRef(kind=job.kind, namespace=job.namespace, name=job.name, uid=job.uid)
    if prebuilt.is_taken(state, job):
        prebuilt.doubt(state, resource, job)
        return
    taken_over = prebuilt.taken_over(state, at_us, job)
    for namesake in namesakes(state, reference, job.workload):
        if prebuilt.is_its_own(job, namesake):
            yield _let_go(state, at_us, namesake, job.version)
            continue
        if job.version < namesake.version:  # the past
            pass_over(state, resource, job, namesake.version, doubted=True)
            return
        yield from remove_job(state, at_us, namesake, job.version)
    # One that a lost ledger knew may be over by now, and its Workload still show quota: no more.
    over = job.finished and job.finished != prebuilt.OUT_OF_SYNC and not job.left_open
    if not _is_managed(state, job) or over or _is_going(job):
        return
    note(state, job)
    names(state)[name(reference)] = job.workload
    elastic = slices.is_elastic(state, job)
    yield _submitted(at_us, resource, job, reference, elastic=elastic)
    known = state.workloads.get(job.workload)
    if known is None or known.uid != job.uid:
        return
    if job.finished:
        yield ended(at_us, job, known)
        return
    yield from taken_over
    yield from _first_report(state, at_us, job, known)


def _submitted(
    at_us: int, resource: str, job: JobObserved, reference: ObjectRef, *, elastic: bool
) -> WorkloadSubmitted:
    return WorkloadSubmitted(
        workload=job.workload,
        uid=job.uid,
        job=reference,
        queue=job.queue,
        created_us=job.created_us,
        podsets=job.podsets,
        reclaimable=job.reclaimable,
        state=job.state,
        variant_of=job.variant_of,
        prebuilt=job.prebuilt,
        elastic=elastic,
        resource=resource,
        held_quota=job.held_quota,
        held_places=job.held_places,
        **told(at_us, job, job.replaces),
    )


def _first_report(
    state: State, at_us: int, job: JobObserved, known: Workload
) -> Iterator[FactEvent]:
    if _is_ready(known, job.state):
        yield PodsReadyReported(at_us=at_us, workload=known.key, uid=known.uid, ready=True)
    yield from report_checks(state, at_us, job, acting(state, known))


def _update(state: State, at_us: int, job: JobObserved, known: Workload) -> Iterator[FactEvent]:
    if _is_going(job):
        state.heard.leaving[job.uid] = job.version
        yield from remove_job(state, at_us, known, job.version)
        return
    if not _is_managed(state, job) and _is_idle(known):
        yield from let_go_all(state, at_us, known, job.version)  # it may ask again
        return
    if known.phase == "finished":
        if known.out_of_sync:  # it must not run
            yield from _report_state(at_us, job, known)
        return
    if known.elastic:
        yield from slices.follow(state, at_us, job, known)
    if job.finished:
        yield ended(at_us, job, known)
        return
    yield from _change(state, at_us, job, known)
    yield from _report(state, at_us, job, known)


def _change(state: State, at_us: int, job: JobObserved, known: Workload) -> Iterator[FactEvent]:
    if is_activated_unseen(state, job, known):
        yield from _change(state, at_us, replace(job, active=False), known)
    # A job that runs, or is being stopped, carries what its start put into the template, and its
    # queue cannot change; it is read again once the template is as its owner wrote it. What a
    # prebuilt Workload asks for stands there, and at first nobody may have looked for that.
    settled = _is_settled(job, known) and _is_managed(state, job)
    charged = holds(acting(state, known))  # what it has quota for stays: it is compared with that
    podsets = job.podsets if (settled and not charged) or not known.podsets else known.podsets
    queue = job.queue if settled else known.queue
    if slices.holds(known):
        podsets = slices.shrunk(job, known)
    # Another controller's reservation matters until what it admitted is adopted, and no longer.
    by = known if is_complete(state) else job
    stood = (by.held_quota, by.held_places) == (known.held_quota, known.held_places)
    replaces = known.replaces if known.elastic else job.replaces
    same = all(getattr(known, name) == value for name, value in asked(job).items())
    before = known.own_priority, known.queue, known.podsets, known.replaces
    if same and stood and before == (job.priority, queue, podsets, replaces):
        return
    yield WorkloadChanged(
        workload=known.key,
        uid=known.uid,
        queue=queue,
        podsets=podsets,
        elastic=known.elastic,
        family=bool(known.variants),
        held_quota=by.held_quota,
        held_places=by.held_places,
        **told(at_us, job, replaces),
    )


def _report(state: State, at_us: int, job: JobObserved, known: Workload) -> Iterator[FactEvent]:
    key, uid = known.key, known.uid
    if job.reclaimable != known.reclaimable:
        yield PodsReclaimed(at_us=at_us, workload=key, uid=uid, reclaimable=job.reclaimable)
    yield from report_checks(state, at_us, job, acting(state, known))
    yield from compare(state, at_us, job, known)
    was_stopped = is_stopped(state, known)
    yield from _report_state(at_us, job, known)
    yield from forged(state, at_us, job, known)
    ready = _is_ready(acting(state, known), job.state)
    if ready != known.ready:
        yield PodsReadyReported(at_us=at_us, workload=key, uid=uid, ready=ready)
    if is_stopped(state, known, job.state) and not was_stopped:
        yield WorkloadStopped(at_us=at_us, workload=key, uid=uid)
        if not _is_managed(state, job):  # its label went while it ran
            yield from let_go_all(state, at_us, known, job.version)


def _report_state(at_us: int, job: JobObserved, known: Workload) -> Iterator[JobStateReported]:
    if _standing(job.state) != _standing(known.state):
        yield JobStateReported(
            at_us=at_us, workload=known.key, uid=known.uid, version=job.version, state=job.state
        )


def _is_settled(job: JobObserved, known: Workload) -> bool:
    """Tell whether a job's template is as its owner wrote it.

    The note of a start that never was is its owner's own.
    """
    restored = not job.state.injected or known.phase == "pending"
    return job.state.suspended and not job.state.started and restored


def _is_managed(state: State, job: JobObserved) -> bool:
    return bool(job.queue) or (state.policy.manage_jobs_without_queue_name and bool(job.podsets))


def _is_going(job: JobObserved) -> bool:
    return job.state.deleting and job.state.active == 0


def _is_idle(known: Workload) -> bool:
    # With a start on its way it may run any moment: its quota is kept until that was stopped.
    order = known.order
    waits = known.phase in ("pending", "parent", "inactive", "finished") and not known.acting
    return waits or (order is None and known.phase == "reserved")


def _standing(state: JobState) -> tuple[bool, bool, bool, bool, bool, bool, str, int, int, int]:
    """Return of a job's state what a decision depends on: not each count of pods."""
    flags = state.suspended, state.partly, state.started, state.active > 0
    told = state.decision, state.generation, state.sized, state.checkpoint_us
    return *flags, state.deleting, state.orphaning, *told


def _is_ready(known: Workload, state: JobState) -> bool:
    pods = sum(podset.count for podset in known.podsets)
    given = sum(given.count for given in known.assignment)
    if given:
        pods = min(given, pods) if known.elastic else given
    return not state.suspended and state.ready + state.succeeded >= pods
