"""Publishes a reservation again if its Workload's status does not show the required checks.

The actuator writes statuses from events, and does not notice lost ones. After a recovery under a
new ledger id all reservations are published again: Workloads may show decisions of the lost tail.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decisions import DecisionEvent, ReservationRepeated
from tidegate.core.folding.timing import ASKED
from tidegate.core.queueing.admission_checks import required_checks
from tidegate.core.state import deadlines
from tidegate.core.state.state import State, about


def reissue_reservations(state: State) -> Iterator[list[DecisionEvent]]:
    """Yield, in full, each reservation that was not observed on its Workload in time."""
    for key in deadlines.due(state, ASKED):
        workload = state.workloads.get(key)
        if workload is None:
            continue
        names = required_checks(state, workload.cluster_queue, workload.assignment)
        again = ReservationRepeated(
            **about(state, workload),
            job=workload.job,
            queue=workload.queue,
            priority_class=workload.priority_class,
            pod_priority_class=workload.pod_priority_class,
            priority=workload.own_priority,
            max_execution_s=workload.max_execution_s,
            assignment=workload.assignment,
            checks=tuple(names),
            admitted=workload.phase == "admitted",
            attempt=workload.reissues + 1,
        )
        yield [again]
