"""Answers what would have to change for a pending workload to start now."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from tidegate.contracts.observations import JobObserved, JobState
from tidegate.core.accepting.jobs.observed import accept_job
from tidegate.core.folding.fold import apply
from tidegate.core.folding.snapshot import decode, write
from tidegate.core.quota.forest import forest
from tidegate.core.state.state import State, Workload
from tidegate.errors import TidegateError
from tidegate.model.ids import UNSATISFIED_CHECKS
from tidegate.replay.whynot_search.ending_search import TRIALS_MAX, Endings, search_endings
from tidegate.replay.whynot_search.obstacles import Obstacle, obstacles, pending_checks
from tidegate.replay.whynot_search.quota_search import QuotaChange, search_quota
from tidegate.replay.whynot_search.trial import Trial, TrialOutcome

NEWEST = 1 << 62
"""A version above all others, so that the job is not outdated."""


class WhyNot(msgspec.Struct, frozen=True, kw_only=True):
    """The answer; each change in it was tried on a copy of the state, by the real core."""

    workload: str
    cluster_queue: str
    reason: str  # the last pending reason; empty: it was not evaluated yet
    obstacles: tuple[Obstacle, ...] = ()  # if there are any, quota alone does not help
    now: TrialOutcome = TrialOutcome(starts=False)  # if nothing changes
    quota: tuple[QuotaChange, ...] = ()
    endings: Endings | None = None
    trials: int = 0  # how many states were tried


def why_not(
    state: State,
    workload: str,
    trials_max: int = TRIALS_MAX,
    tick: Callable[[], None] = lambda: None,
) -> WhyNot:
    """Return what would have to change for a pending workload to start now.

    For a workload with quota the answer only has the admission checks that it waits for.

    Args:
        state: the state; it is not changed.
        workload: the key of a workload that is pending, or has quota and waits for its checks.
        trials_max: how many trials the search for fewer workloads that must end may take.
        tick: called at each trial, to show progress.

    Raises:
        TidegateError: the workload does not wait; the message says its phase.
    """
    current = state.workloads.get(workload)
    if current is not None and current.phase == "reserved":
        return _answer(current, tuple(pending_checks(state, current)))
    if current is None or current.phase != "pending":
        if current is not None and current.variants:
            raise TidegateError(
                f"{workload} has variants: name one of {', '.join(current.variants)}."
            )
        phase = "gone" if current is None else current.phase
        raise TidegateError(f"{workload} is {phase}, not pending: see `tidegate why {workload}`.")
    forest(state)
    in_the_way = tuple(obstacles(state, current))
    if any(obstacle.code != "WaitingForPreempted" for obstacle in in_the_way):
        return _answer(current, in_the_way)
    trial = Trial(state, workload, tick)
    now = trial.outcome_after(())
    if now.starts:
        return _answer(current, in_the_way, now=now, trials=trial.count)
    quota = tuple(search_quota(state, current, trial))
    endings = search_endings(state, current, trial, trials_max)
    return _answer(current, in_the_way, now=now, quota=quota, endings=endings, trials=trial.count)


def _reason(workload: Workload) -> str:
    if workload.phase == "reserved":
        return UNSATISFIED_CHECKS
    return workload.pending_status.reason if workload.pending_status is not None else ""


def _answer(  # noqa: PLR0913 - the answer's parts
    workload: Workload,
    in_the_way: tuple[Obstacle, ...],
    *,
    now: TrialOutcome = TrialOutcome(starts=False),  # noqa: B008 - a frozen Struct
    quota: tuple[QuotaChange, ...] = (),
    endings: Endings | None = None,
    trials: int = 0,
) -> WhyNot:
    return WhyNot(
        workload=workload.key,
        cluster_queue=workload.cluster_queue,
        reason=_reason(workload),
        obstacles=in_the_way,
        now=now,
        quota=quota,
        endings=endings,
        trials=trials,
    )


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
