"""Admission check states of a Workload's status, as far as they count.

A state counts if it was written after the newest eviction or release: the actuator then resets
every check to Pending, and writes the decision into the Workload with it. So a ``Ready`` from
before an eviction never admits, however late it is observed.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.facts import CheckReported
from tidegate.contracts.observations import CheckSeen, JobObserved
from tidegate.core.multikueue.check import check_of
from tidegate.core.state.desired_state import decision_seq
from tidegate.core.state.state import State, Workload


def report_checks(
    state: State, at_us: int, job: JobObserved, workload: Workload
) -> Iterator[CheckReported]:
    """Yield each check state of a workload that counts and has changed."""
    if not counts(state, job, workload):
        return
    own_check = check_of(state, workload.cluster_queue)  # this check's state is decided here
    for check in job.checks:
        if check.name != own_check and _is_news(workload, check):
            yield CheckReported(
                at_us=at_us,
                workload=workload.key,
                uid=workload.uid,
                check=check.name,
                state=check.state,
                message=check.message,
                requeue_after_s=check.requeue_after_s,
                updates=check.updates,
            )


def counts(state: State, job: JobObserved, workload: Workload) -> bool:
    """Tell whether a Workload's status was written after its checks were reset."""
    if workload.variants:
        return False  # it is the state of a variant that holds quota no more
    if not job.checks_since:
        return workload.checks_seq == 0
    return decision_seq(state, job.checks_since) >= max(workload.checks_seq, 1)


def _is_news(workload: Workload, check: CheckSeen) -> bool:
    before = workload.checks.get(check.name)
    if before is None:  # Pending shows that the Workload's status lists the check
        return check.state != "Pending" or workload.phase == "reserved"
    before_values = before.state, before.requeue_after_s, before.updates
    return before_values != (check.state, check.requeue_after_s, check.updates)
