"""A job whose Workload its owner made: from then on the Workload stands for the job.

Until a job names it, such a Workload is queued like any that was made directly; what it was given
by then the job takes over. While there is none of the name, the job waits as itself behind a gate.

Source: behaviour.md 15.2 (ensureOneWorkload).
"""

from __future__ import annotations

from msgspec.structs import replace

from tidegate.contracts.facts import WorkloadAdopted
from tidegate.contracts.observations import JobObserved
from tidegate.core.state.state import State, Workload

_DIRECT = "workload"


def is_unclear(job: JobObserved) -> bool:
    """Tell whether nobody has looked for a job's prebuilt Workload yet."""
    return bool(job.prebuilt and job.queue) and not job.podsets


def is_its_own(job: JobObserved, namesake: Workload) -> bool:
    """Tell whether a workload is the prebuilt one of a job, not claimed until now."""
    return bool(job.prebuilt) and namesake.job.kind == _DIRECT and namesake.key == job.workload


def is_anew(job: JobObserved, workload: Workload) -> bool:
    """Tell whether a Workload that was out of sync with its job is to be judged anew.

    The two match again, or the Workload is another: that none was there in between was not seen.
    """
    return workload.out_of_sync and (not job.finished or job.created_us != workload.created_us)


def with_place(state: State, job: JobObserved) -> JobObserved:
    """Return a slice that was sent here with the slice whose place it may take, if there is one.

    That is a slice that was sent here as well, of the same queue, and not larger: while its job is
    one with it still, nothing of it runs that is not charged.
    """
    if job.kind != _DIRECT or not job.replaces:
        return job
    older = state.workloads.get(job.replaces)
    takes = older is not None and older.key != job.workload and _may_take_place(job, older)
    return job if takes else replace(job, replaces="")


def _may_take_place(job: JobObserved, older: Workload) -> bool:
    before = {podset.name: podset.count for podset in older.podsets}
    after = {podset.name: podset.count for podset in job.podsets}
    is_copy = older.elastic and (older.prebuilt or older.job.kind == _DIRECT)
    alike = job.elastic and job.queue == older.queue and before.keys() == after.keys()
    near = older.key.partition("/")[0] == job.namespace
    return bool(is_copy) and alike and near and all(after[name] >= before[name] for name in before)


def is_represented(state: State, job: JobObserved) -> bool:
    """Return whether a prebuilt Workload stands for a job that ingest had not seen yet."""
    workload = state.workloads.get(job.workload)
    return job.kind == _DIRECT and workload is not None and bool(workload.prebuilt)


def is_awaited(state: State, job: JobObserved) -> bool:
    """Tell whether a job names a slice whose place is that of another job, which runs still.

    What the slice was admitted with is charged once, for the job that is to be one with it.
    """
    newer = state.workloads.get(job.workload)
    if newer is None or not is_its_own(job, newer):
        return False
    older = state.workloads.get(newer.replaces)
    if older is None or older.phase != "finished" or older.job.uid in (job.uid, newer.job.uid):
        return False
    return older.job.kind != _DIRECT and (not older.state.suspended or older.state.active > 0)


def doubt(state: State, resource: str, job: JobObserved) -> None:
    """Let the next list of an object that was passed over ask for it again: its job may be gone."""
    state.dedup.doubted.setdefault(resource, {})[job.uid] = job.version


def adopt_assignment(state: State, at_us: int, job: JobObserved) -> tuple[WorkloadAdopted, ...]:
    """Return that a job keeps what its Workload was admitted with; nothing if it was not.

    To be asked before the Workload's own entry goes, and recorded behind the job's.
    """
    workload = state.workloads.get(job.workload)
    if workload is None or workload.phase != "admitted" or not is_its_own(job, workload):
        return ()
    adopted = WorkloadAdopted(
        at_us=at_us,
        workload=job.workload,
        uid=job.uid,
        cluster_queue=workload.cluster_queue,
        assignment=workload.assignment,
    )
    return (adopted,)
