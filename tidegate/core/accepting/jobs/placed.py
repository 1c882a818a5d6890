"""A placed job as it is observed at home: what it asks for, and that its end is shown there.

It runs nowhere at home. How it stands there, and that somebody set ``spec.suspend`` to false, says
nothing; its copy's state is its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tidegate.contracts.fact_kinds.copies import EndShown
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.core.state.state import Workload


def at_home(job: JobObserved, *, placed: bool) -> JobObserved:
    """Return what a job says that counts: of a placed one not how it stands at home."""
    if not placed:
        return job
    standing = JobState(deleting=job.state.deleting, generation=job.state.generation)
    return replace(job, state=standing, reclaimable={}, checks=(), nominated=())


def shown(at_us: int, job: JobObserved, workload: Workload) -> Iterator[EndShown]:
    """Yield that a job shows at home how its copy ended, if that is news."""
    if workload.body and job.finished and workload.phase == "finished" and not workload.end_shown:
        yield EndShown(at_us=at_us, workload=workload.key, uid=workload.uid, version=job.version)
