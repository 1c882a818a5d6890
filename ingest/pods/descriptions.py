"""Watches of objects that describe the pods of jobs: with one, these jobs are observed again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec

from ingest.jobs.job_index import JobIndex
from ingest.jobs.ownership import ResourceObservation
from ingest.pods.referred_objects import Described, gated_job
from ingest.watched_resource import WatchedResource
from tidegate.errors import TidegateError
from tidegate.jobs.job_status import UntypedObject
from tidegate.jobs.kind import JobKind


def watch_described(kind: JobKind[Any], plural: str, index: JobIndex) -> WatchedResource:
    """Watch the objects that describe the pods of a kind's jobs.

    It is called otherwise than jobs are: those of a kind that is not enabled are not watched by it.
    """
    path, referred = f"/apis/{kind.group}/{kind.version}/{plural}", index.referred
    return WatchedResource(
        resource=f"described-{plural}.{kind.group}",
        path=path,
        kind=Described,
        observe=lambda obj: _republished(index, referred.add(path, obj)),
        gone=lambda uid, _version: _republished(index, referred.forget(uid)),
        listed=lambda present, _version: _republished(index, referred.listed(path, present)),
        optional=True,
        wide=True,
    )


def watch_both(described: WatchedResource | None, job: WatchedResource) -> WatchedResource:
    """Watch jobs that also say what the pods of other jobs are like; None: they do not."""
    if described is None:
        return job

    def observe(obj: Any) -> Iterator[ResourceObservation]:  # noqa: ANN401 - of the job's kind
        yield from described.observe(obj)
        yield from job.observe(obj)

    def gone(uid: str, version: int) -> Iterator[ResourceObservation]:
        yield from described.gone(uid, version)
        yield from job.gone(uid, version)

    def listed(present: Collection[str], version: int) -> Iterator[ResourceObservation]:
        yield from described.listed(present, version)
        yield from job.listed(present, version)

    return msgspec.structs.replace(job, observe=observe, gone=gone, listed=listed)


def _republished(
    index: JobIndex, jobs: Iterable[tuple[JobKind[Any], UntypedObject]]
) -> Iterator[ResourceObservation]:
    """Yield jobs as what they refer to describes them now; one that is unreadable so waits."""
    for kind, obj in jobs:
        try:
            yield from index.job(kind, obj)
        except TidegateError:
            yield from index.put_incomplete(kind, obj.metadata, gated_job(kind, obj))
