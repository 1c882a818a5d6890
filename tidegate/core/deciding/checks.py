"""Admission checks: a workload with quota starts once all of its checks are ready.

Source: behaviour.md 9.1, 9.2.
"""

from __future__ import annotations

from tidegate.contracts.decisions import DecisionEvent, WorkloadAdmitted, WorkloadEvicted
from tidegate.core.deciding.admit import required_checks
from tidegate.core.draft import Draft, Workload
from tidegate.core.orders import start_order, stop_order

CHECK_FAILED = "AdmissionCheck"


def attend_checks(draft: Draft, workload: Workload) -> list[DecisionEvent]:
    """Return what a workload's checks make follow: it starts, or it leaves."""
    names = required_checks(draft, workload)
    states = {name: workload.checks[name].state for name in names if name in workload.checks}
    if rejected := sorted(name for name, state in states.items() if state == "Rejected"):
        message = f"Admission check {', '.join(rejected)} rejected."
        return _evicted(draft, workload, "Deactivated", CHECK_FAILED, message)
    if retried := sorted(name for name, state in states.items() if state == "Retry"):
        message = f"Admission check {', '.join(retried)} to be tried again."
        return _evicted(draft, workload, CHECK_FAILED, "", message)
    if workload.phase == "reserved" and all(states.get(name) == "Ready" for name in names):
        admitted = WorkloadAdmitted(
            at_us=draft.now_us,
            workload=workload.key,
            uid=workload.uid,
            cluster_queue=workload.cluster_queue,
            queue=workload.queue,
            waited_us=max(0, draft.now_us - workload.created_us) if workload.created_us else 0,
        )
        return [admitted, start_order(draft, workload)]
    return []


def _evicted(
    draft: Draft, workload: Workload, reason: str, cause: str, message: str
) -> list[DecisionEvent]:
    event = WorkloadEvicted(
        at_us=draft.now_us,
        workload=workload.key,
        uid=workload.uid,
        cluster_queue=workload.cluster_queue,
        reason=reason,
        cause=cause,
        message=message,
    )
    return [event, stop_order(draft, workload, reason=reason, message=message)]
