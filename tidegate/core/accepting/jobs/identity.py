"""Which workload stands for a job: a prebuilt one that the job names, or its own.

Jobs with a prebuilt Workload, created by the job's owner: until a job names it, such a Workload is
queued like any that was created directly; the job takes over its admission. While no Workload has
the name, the job's own workload waits behind a gate. Of jobs of one kind and name, the newer one
replaces the older, whose end was not observed.

Source: behaviour.md 15.2 (ensureOneWorkload).
"""

from __future__ import annotations

from msgspec.structs import replace

from tidegate.contracts.facts import WorkloadAdopted
from tidegate.contracts.observations import JobObserved
from tidegate.core.accepting.jobs.fields import without_uncounted
from tidegate.core.state.state import State, Workload
from tidegate.model.clusters import qualified
from tidegate.model.ids import ObjectRef

_DIRECT = "workload"


def is_prebuilt_unread(job: JobObserved) -> bool:
    """Tell whether ingest has not read a job's prebuilt Workload yet."""
    return bool(job.prebuilt and job.queue) and not job.podsets


def is_own_prebuilt(job: JobObserved, namesake: Workload) -> bool:
    """Tell whether a workload is a job's prebuilt one that no job had claimed until now."""
    return bool(job.prebuilt) and namesake.job.kind == _DIRECT and namesake.key == job.workload


def needs_new_workload(job: JobObserved, workload: Workload) -> bool:
    """Tell whether a Workload that was out of sync with its job needs a new workload.

    Either both match again, or the Workload is a new object whose predecessor's deletion was not
    observed.
    """
    return workload.out_of_sync and (not job.finished or job.created_us != workload.created_us)


def counted_job(state: State, job: JobObserved) -> JobObserved:
    """Return a job without what does not count: an invalid older slice, finished pods."""
    return _validate_slice(state, without_uncounted(state, job))


def _validate_slice(state: State, job: JobObserved) -> JobObserved:
    """Return a slice that a manager sent here; drops an older slice that it may not replace.

    The older slice must have been sent here, too, be of the same queue, and not be larger: while
    its job still belongs to it, all that runs of the job is charged.
    """
    if job.kind != _DIRECT or not job.replaces:
        return job
    older = state.workloads.get(job.replaces)
    is_valid = older is not None and older.key != job.workload and _may_replace(job, older)
    return job if is_valid else replace(job, replaces="")


def _may_replace(job: JobObserved, older: Workload) -> bool:
    before = {podset.name: podset.count for podset in older.podsets}
    after = {podset.name: podset.count for podset in job.podsets}
    is_copy = older.elastic and (older.prebuilt or older.job.kind == _DIRECT)
    same_podsets = job.elastic and job.queue == older.queue and before.keys() == after.keys()
    same_namespace = older.key.partition("/")[0] == job.namespace
    return (
        bool(is_copy)
        and same_podsets
        and same_namespace
        and all(after[name] >= before[name] for name in before)
    )


def is_represented(state: State, job: JobObserved) -> bool:
    """Return whether a Workload observed directly stands for a job already, as its prebuilt one."""
    workload = state.workloads.get(job.workload)
    return job.kind == _DIRECT and workload is not None and bool(workload.prebuilt)


def is_slice_awaited(state: State, job: JobObserved) -> bool:
    """Tell whether a job names a slice that replaced the slice of another job, which still runs.

    The slice's admission is charged once, for the job that is to join it.
    """
    newer = state.workloads.get(job.workload)
    if newer is None or not is_own_prebuilt(job, newer):
        return False
    older = state.workloads.get(newer.replaces)
    if older is None or older.phase != "finished" or older.job.uid in (job.uid, newer.job.uid):
        return False
    return older.job.kind != _DIRECT and (not older.state.suspended or older.state.active > 0)


def suspect_deleted(state: State, resource: str, job: JobObserved) -> None:
    """Doubt a skipped object: the next list that has it requests a resync; its job may be gone."""
    state.dedup.suspected.setdefault(resource, {})[job.uid] = job.version


def adopt_assignment(state: State, at_us: int, job: JobObserved) -> tuple[WorkloadAdopted, ...]:
    """Return that a job keeps the admission of its prebuilt Workload; empty if it had none.

    Call it before the Workload's own entry is removed; record the result after the job's entry.
    """
    workload = state.workloads.get(job.workload)
    if workload is None or workload.phase != "admitted" or not is_own_prebuilt(job, workload):
        return ()
    adopted = WorkloadAdopted(
        at_us=at_us,
        workload=job.workload,
        uid=job.uid,
        cluster_queue=workload.cluster_queue,
        assignment=workload.assignment,
    )
    return (adopted,)


def namesakes(state: State, job: ObjectRef, key: str) -> list[Workload]:
    """Return the workloads that a new job replaces: of its name, or under its workload's key."""
    keys = dict.fromkeys((workloads_by_name(state).get(job_name(job), ""), key))
    generator = (state.workloads.get(each) for each in keys)
    return [workload for workload in generator if workload is not None and workload.uid != job.uid]


def is_key_taken(state: State, job: ObjectRef, key: str) -> bool:
    """Tell whether the key of a new job's workload belongs to a job of another kind.

    Any user may name a pod group like the Workload of a Job: that Job did not end, and its running
    pods stay charged. A prebuilt Workload may pass from one job to another, and one that was
    created directly may be claimed by any job.
    """
    holder = state.workloads.get(key)
    if holder is None or holder.uid == job.uid or holder.phase == "finished" or holder.prebuilt:
        return False
    return holder.job.kind != job.kind and _DIRECT not in {holder.job.kind, job.kind}


def workloads_by_name(state: State) -> dict[str, str]:
    """Return the workloads of jobs by kind, namespace and name; the live index."""
    if state.dedup.workloads_by_name is None:
        own = ((key, workload) for key, workload in state.workloads.items() if not workload.parent)
        state.dedup.workloads_by_name = {job_name(workload.job): key for key, workload in own}
    return state.dedup.workloads_by_name


def job_name(job: ObjectRef) -> str:
    """Return the kind, cluster, namespace and name of a job: newer jobs replace older by these."""
    return qualified(f"{job.kind} {job.namespace}/{job.name}", job.cluster)
