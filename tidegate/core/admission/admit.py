"""Reserves quota for a workload, and starts it if no admission check is required."""

from __future__ import annotations

from tidegate.contracts.decisions import QuotaReleased, QuotaReserved
from tidegate.contracts.phases import HOLDING, SLICE_REPLACED
from tidegate.core.admission.orders import started
from tidegate.core.flavors.assignment import Assignment
from tidegate.core.members.placing import chosen
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.queueing.admission_checks import required_checks
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import Workload, about
from tidegate.model.podset import PodSetAssignment


def admit(
    context: DecideContext, cq: ClusterQueueState, workload: Workload, assignment: Assignment
) -> None:
    """Reserve a nominated assignment for a workload; start it if no check is required."""
    reserve(context, cq, workload, granted(assignment), assignment.borrows)


def reserve(
    context: DecideContext,
    cq: ClusterQueueState,
    workload: Workload,
    assignment: tuple[PodSetAssignment, ...],
    borrows: int,
) -> None:
    """Reserve an assignment for a workload; start it if no check is required.

    A slice that the workload replaces releases its quota before.
    """
    state = context.state
    older = state.workloads.get(workload.replaces) if workload.replaces else None
    if older is not None and older.phase in HOLDING:
        context.record(QuotaReleased(**about(state, older), reason=SLICE_REPLACED))
    context.record(
        QuotaReserved(
            **about(state, workload),
            assignment=assignment,
            borrows=borrows,
            checks=tuple(required_checks(state, cq.name, assignment)),
            cycle=context.number,
            cluster=chosen(state, workload, assignment),
        )
    )
    late = any(podset.delayed_topology for podset in assignment)
    if not late and not required_checks(state, cq.name, assignment):
        start(context, workload)


def start(context: DecideContext, workload: Workload) -> None:
    """Admit a workload that has reserved quota, and order its job to start."""
    for decision in started(context.state, workload):
        context.record(decision)


def granted(assignment: Assignment) -> tuple[PodSetAssignment, ...]:
    """Return an assignment in the form of the ledger."""
    return tuple(
        PodSetAssignment(
            name=podset.name,
            count=podset.count,
            flavors={resource: choice.flavor for resource, choice in podset.choices.items()},
            usage={
                resource: podset.requests[resource]
                for resource in podset.choices
                if resource in podset.requests
            },
            topology=podset.placed,
            delayed_topology="Pending" if podset.delayed else "",
        )
        for podset in assignment.podsets
    )
