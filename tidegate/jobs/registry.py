"""The one table of job kinds: a new kind is its file and its row here."""

from __future__ import annotations

from typing import Any

from tidegate.errors import NotSupportedError
from tidegate.jobs import batch_job, jobset, workload
from tidegate.jobs.kind import JobKind

JOB_KINDS: dict[str, JobKind[Any]] = {
    kind.name: kind
    for kind in (
        batch_job.KIND,
        jobset.KIND,
        workload.KIND,
    )
}


def job_kind(name: str) -> JobKind[Any]:
    """Return the kind of this name.

    Raises:
        NotSupportedError: there is none.
    """
    if name not in JOB_KINDS:
        known = ", ".join(JOB_KINDS)
        raise NotSupportedError(f"There is no job kind {name!r}; known: {known}.")
    return JOB_KINDS[name]
