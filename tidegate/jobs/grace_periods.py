"""When pods that are being deleted count as gone, although the cluster still shows them.

The pods of a node that does not answer stay ``Terminating`` until the node is deleted. Kueue then
releases the quota of a batch Job at once, and that of a pod once its grace period has passed a
second time after its deletion was due (``IsActive`` of its pod integration). Here that second rule
applies to both: until then a pod may still run. See docs/adr/0030.
"""

from __future__ import annotations

import msgspec

from tidegate.jobs.batch.numbers import Job
from tidegate.jobs.pods.pod_state import is_active
from tidegate.kinds.meta import true_condition
from tidegate.kinds.pods import Pod
from tidegate.kinds.times import micros

GRACE_S = 30
"""The grace period of a pod that does not name one."""
_US = 1_000_000


class Grace(msgspec.Struct, frozen=True):
    """An object whose pods are being deleted."""

    until_us: int  # UTC microseconds
    expired: Pod | Job  # the object as it counts from then on


def grace_of(obj: object) -> Grace | None:
    """Return until when the deleted pods of an object count; None: it has none.

    Raises:
        UndecodableError: the time of the deletion is no time.
    """
    match obj:
        case Pod():
            return _grace_of_pod(obj)
        case Job():
            return _grace_of_job(obj)
        case _:
            return None


def _grace_of_pod(pod: Pod) -> Grace | None:
    """Return until when a pod counts: its ``deletionTimestamp`` is when it should be gone."""
    meta = pod.metadata
    if meta.deletion_timestamp is None or not meta.deletion_grace_period_seconds:
        return None
    if not is_active(pod):
        return None
    forced = msgspec.structs.replace(meta, deletion_grace_period_seconds=0)
    return Grace(
        until_us=micros(meta.deletion_timestamp) + meta.deletion_grace_period_seconds * _US,
        expired=msgspec.structs.replace(pod, metadata=forced),
    )


def _grace_of_job(job: Job) -> Grace | None:
    """Return until when the pods count of a Job that was suspended or is being deleted."""
    status, since = job.status, _stopped_at(job)
    if not status.terminating or status.active or not since:
        return None
    named_s = job.spec.template.spec.termination_grace_period_seconds
    grace_s = GRACE_S if named_s is None else named_s
    return Grace(
        until_us=micros(since) + 2 * grace_s * _US,
        expired=msgspec.structs.replace(job, status=msgspec.structs.replace(status, terminating=0)),
    )


def _stopped_at(job: Job) -> str:
    """Return when a Job's pods were deleted at the latest; empty: they were not."""
    if job.metadata.deletion_timestamp is not None:
        return job.metadata.deletion_timestamp
    if not job.spec.suspend:
        return ""
    suspended = true_condition(job.status.conditions, "Suspended")
    return "" if suspended is None else suspended.last_transition_time or ""
