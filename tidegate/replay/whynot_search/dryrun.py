"""Dry run: whether a job would start if it were submitted now, decided on a copy of the state."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from tidegate.contracts.observations import JobObserved, JobState
from tidegate.core.accepting.jobs.observed import accept_job
from tidegate.core.folding.fold import apply
from tidegate.core.folding.snapshot import decode, write
from tidegate.core.state.state import State
from tidegate.errors import TidegateError
from tidegate.replay.whynot_search.ending_search import TRIALS_MAX
from tidegate.replay.whynot_search.whynot import WhyNot, why_not

NEWEST = 1 << 62
"""A version above all others, so that the job is not outdated."""


def dry_run(
    state: State,
    job: JobObserved,
    resource: str,
    trials_max: int = TRIALS_MAX,
    tick: Callable[[], None] = lambda: None,
) -> WhyNot:
    """Return whether a job would start if it were submitted now, suspended, and if not, why.

    Args:
        state: the state; it is not changed.
        job: as it would be observed.
        resource: of the job's kind, e.g. ``jobs.batch``.
        trials_max: see ``why_not``.
        tick: see ``why_not``.

    Raises:
        TidegateError: it would not be managed.
    """
    copy = decode(write(state))
    fresh = replace(job, state=JobState(), version=NEWEST, created_us=state.now_us)
    for fact in accept_job(copy, state.now_us, resource, fresh):
        apply(copy, fact)
    if job.workload not in copy.workloads:
        raise TidegateError(
            f"{job.kind} {job.namespace}/{job.name} names no LocalQueue, so Tidegate would "
            "not manage it. "
            "Give it the label kueue.x-k8s.io/queue-name."
        )
    return why_not(copy, job.workload, trials_max, tick)
