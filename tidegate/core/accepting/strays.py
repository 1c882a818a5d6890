"""Turns observed strays into facts: objects without a workload that must not run."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tidegate.contracts.facts import StrayCleared, StrayReported
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.core.accepting.jobs.workload_fields import reference_of
from tidegate.core.state.state import State, Stray


def follow_stray(
    state: State, at_us: int, resource: str, job: JobObserved
) -> Iterator[StrayReported | StrayCleared]:
    """Yield that a stray runs, that its state changed, or that it is no stray any more.

    An object that was never observed running is no stray, nor is one that has a workload.
    """
    stray = state.strays.get(job.uid)
    if job.stray is None or job.uid in state.by_uid:
        if stray is not None:
            yield _cleared(at_us, job.uid, stray)
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


def stray_gone(state: State, at_us: int, uid: str) -> Iterator[StrayCleared]:
    """Yield that a stray was deleted, if ``uid`` is one's."""
    stray = state.strays.get(uid)
    if stray is not None:
        yield _cleared(at_us, uid, stray)


def strays_listed(
    state: State, at_us: int, resource: str, present: Collection[str], until: int | None
) -> Iterator[StrayCleared]:
    """Yield the deletion of strays that a list lacks; ``until``: the newest version it covers."""
    for uid, stray in list(state.strays.items()):
        newer = until is not None and stray.version > until
        if stray.resource == resource and uid not in present and not newer:
            yield _cleared(at_us, uid, stray)


def _cleared(at_us: int, uid: str, stray: Stray) -> StrayCleared:
    return StrayCleared(at_us=at_us, workload=stray.key, uid=uid)


def _stray_state(state: JobState) -> tuple[bool, bool, str]:
    return state.suspended, state.deleting, state.decision
