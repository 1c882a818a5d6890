"""Giving a workload quota, and starting it if no admission check stands in the way."""

from __future__ import annotations

from tidegate.contracts.decisions import QuotaReleased, QuotaReserved, WorkloadAdmitted
from tidegate.core.checking import required_checks
from tidegate.core.draft import Workload
from tidegate.core.flavors import Assignment
from tidegate.core.folding.admissions import SLICE_REPLACED
from tidegate.core.forest import HOLDING
from tidegate.core.orders import start_order
from tidegate.core.passing import Pass
from tidegate.core.rooms import Room
from tidegate.model.podset import PodSetAssignment


def admit(run_of: Pass, room: Room, workload: Workload, found: Assignment) -> None:
    """Reserve what was found for a workload, and start it if nothing else is asked of it."""
    reserve(run_of, room, workload, granted(found), found.borrows)


def reserve(
    run_of: Pass,
    room: Room,
    workload: Workload,
    assignment: tuple[PodSetAssignment, ...],
    borrows: int,
) -> None:
    """Reserve an assignment for a workload, and start it if nothing else is asked of it."""
    draft = run_of.draft
    older = draft.workloads.get(workload.replaces) if workload.replaces else None
    if older is not None and older.phase in HOLDING:
        run_of.tell(
            QuotaReleased(
                at_us=draft.now_us,
                workload=older.key,
                uid=older.uid,
                cluster_queue=older.cluster_queue,
                reason=SLICE_REPLACED,
            )
        )
    run_of.tell(
        QuotaReserved(
            at_us=draft.now_us,
            workload=workload.key,
            uid=workload.uid,
            cluster_queue=room.name,
            assignment=assignment,
            borrows=borrows,
            checks=tuple(required_checks(draft, room.name, assignment)),
            cycle=run_of.number,
        )
    )
    if not required_checks(draft, room.name, assignment):
        start(run_of, workload)


def start(run_of: Pass, workload: Workload) -> None:
    """Admit a workload that has its quota, and order its job to start."""
    draft = run_of.draft
    run_of.tell(
        WorkloadAdmitted(
            at_us=draft.now_us,
            workload=workload.key,
            uid=workload.uid,
            cluster_queue=workload.cluster_queue,
            queue=workload.queue,
            waited_us=max(0, draft.now_us - workload.created_us) if workload.created_us else 0,
        )
    )
    run_of.tell(start_order(draft, workload))


def granted(found: Assignment) -> tuple[PodSetAssignment, ...]:
    """Return an assignment as it is recorded."""
    return tuple(
        PodSetAssignment(
            name=podset.name,
            count=podset.count,
            flavors={resource: one.flavor for resource, one in podset.choices.items()},
            usage={resource: podset.requests[resource] for resource in podset.choices},
        )
        for podset in found.podsets
    )
