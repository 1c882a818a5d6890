"""How an observed job stands: activated again, alive again, ready.

Who was deactivated by a decision may be activated again before anybody saw it inactive.

What is observed is how the Workload is now, not each write. So a deactivation leaves its decision
beside what it writes: where that is seen and the Workload is active, somebody activated it since.
"""

from __future__ import annotations

from tidegate.contracts.observations import JobObserved, JobState
from tidegate.contracts.observed.jobs import INCOMPLETE
from tidegate.core.state.desired_state import decision_seq, stays_gated
from tidegate.core.state.state import State, Workload

_ENDS_FOR_GOOD = ("batch/job", "jobset.x-k8s.io/jobset", "pod")
"""Kinds whose end nobody takes back: a condition of a Job or JobSet, the phase of a Pod."""
_GROUP = "pod-group"


def is_activated_unseen(state: State, job: JobObserved, workload: Workload) -> bool:
    """Tell whether a job is active that counts as such though it was deactivated.

    The decision is that of this deactivation if it came after the checks were forgotten: each
    eviction, and each release, does so before.
    """
    if workload.phase != "inactive" or not workload.deactivated_cause:
        return False
    written = decision_seq(state, job.deactivated) > workload.checks_seq
    return written and workload.active and job.active


def lives_again(job: JobObserved, workload: Workload) -> bool:
    """Tell whether a job had ended, and has not in a cluster that was restored from a backup.

    Only a restore takes the version of what is known away. One that nobody noticed by versions,
    since they had grown again up to all that was known, is seen by what had ended for good. (What
    is prebuilt ends with its Workload, too, and may then do so in a version of the job or not.)
    """
    if workload.phase != "finished" or job.finished:
        return False
    later = job.version > workload.version or not job.prebuilt  # an older version is no news
    ended_for_good = job.kind in _ENDS_FOR_GOOD or _is_whole_again(job, workload)
    return not workload.version or (ended_for_good and later)


def _is_whole_again(job: JobObserved, workload: Workload) -> bool:
    """Return whether all pods of a group that had ended are to run, or some of them run.

    A group has no end of its own: where pods that succeeded are deleted it looks as if it had not
    ended, and it may get further pods, which wait for ever. But no pod of it runs again, and while
    it is the same group one is left that had started: else its pods name another group.
    """
    if job.kind != _GROUP or job.prebuilt or workload.dispatch is not None:
        return False
    waits = not job.state.succeeded and INCOMPLETE not in job.gates
    runs = job.state.started and job.state.active > 0
    return bool(job.queue) and (runs or waits)


def state_key(state: JobState) -> tuple[object, ...]:
    """Return of a job's state what a decision depends on: not each count of pods."""
    flags = state.suspended, state.partly, state.started, state.active > 0
    marks = state.decision, state.generation, state.sized, state.checkpoint_us
    return *flags, state.deleting, state.orphaning, *marks


def is_ready(workload: Workload, state: JobState) -> bool:
    """Return whether as many pods are ready, or have succeeded, as were assigned.

    Pods that stay gated here are as ready as they are in the worker cluster.
    """
    pods = sum(podset.count for podset in workload.podsets)
    pods_assigned = sum(assignment.count for assignment in workload.assignment)
    if pods_assigned:
        pods = min(pods_assigned, pods) if workload.elastic else pods_assigned
    runs = not state.suspended or stays_gated(workload)
    return runs and state.ready + state.succeeded >= pods


def is_settled(job: JobObserved, workload: Workload) -> bool:
    """Tell whether a job's template is as its owner wrote it.

    The note of a start that never was is its owner's own.
    """
    restored = not job.state.injected or workload.phase == "pending"
    return job.state.suspended and not job.state.started and restored


def is_idle(workload: Workload) -> bool:
    """Return whether a workload can be let go of: nothing of it runs, or may start any moment."""
    # With a start on its way it may run any moment: its quota is kept until that was stopped.
    order = workload.order
    waits = workload.phase in ("pending", "parent", "inactive", "finished") and not workload.acting
    return waits or (order is None and workload.phase == "reserved")
