"""What admission checks' controllers wrote into a Workload's status, as far as it counts.

A word counts if it was written after the newest eviction or release: the actuator then resets every
check to Pending, and in the same write notes the decision on the Workload. So a ``Ready`` from
before an eviction never admits, however late it is told.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.facts import CheckReported
from tidegate.contracts.observations import CheckSeen, JobObserved
from tidegate.core.multikueue.check import check_of
from tidegate.core.state.desired_state import decision_seq
from tidegate.core.state.state import State, Workload


def report_checks(
    state: State, at_us: int, job: JobObserved, known: Workload
) -> Iterator[CheckReported]:
    """Yield what the controllers of a workload's checks said that is news and counts."""
    if not _counts(state, job, known):
        return
    ours = check_of(state, known.cluster_queue)  # what is said of that here is decided here
    for told in job.checks:
        if told.name != ours and _is_news(known, told):
            yield CheckReported(
                at_us=at_us,
                workload=known.key,
                uid=known.uid,
                check=told.name,
                state=told.state,
                message=told.message,
                requeue_after_s=told.requeue_after_s,
                updates=told.updates,
            )


def _counts(state: State, job: JobObserved, known: Workload) -> bool:
    if known.variants:
        return False  # said of a variant that holds quota no more
    if not job.checks_since:
        return known.checks_seq == 0
    return decision_seq(state, job.checks_since) >= max(known.checks_seq, 1)


def _is_news(known: Workload, told: CheckSeen) -> bool:
    before = known.checks.get(told.name)
    if before is None:  # Pending says that its controller is asked
        return told.state != "Pending" or known.phase == "reserved"
    heard = before.state, before.requeue_after_s, before.updates
    return heard != (told.state, told.requeue_after_s, told.updates)
