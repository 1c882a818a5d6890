"""Fields of a job's Workload that override the job's own."""

from __future__ import annotations

import msgspec

from tidegate.contracts.observations import CheckSeen
from tidegate.jobs.name_lists import gated_by
from tidegate.jobs.reserved import holds_quota_of_another, places_of_another
from tidegate.jobs.workload_fields import boost, closed_gates, is_active
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workloads.check_states import check_states, checks_since
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import holding
from tidegate.model.topology import TopologyAssignment


class WorkloadOverrides(msgspec.Struct, frozen=True, kw_only=True):
    """A Workload's overrides of its job."""

    workload: str  # its uid
    active: bool = True
    held_quota: bool = False
    held_places: dict[str, TopologyAssignment] = {}
    priority_boost: int = 0
    gates: tuple[str, ...] = ()
    preemption_gates: tuple[str, ...] = ()
    checks: tuple[CheckSeen, ...] = ()
    checks_since: str = ""
    nominated: tuple[str, ...] = ()
    deactivated: str = ""
    left_open: bool = False


NONE = WorkloadOverrides(workload="")
"""The overrides of a job without a Workload: none."""


def overrides_of(workload: Workload) -> WorkloadOverrides:
    """Return a Workload's overrides of its job."""
    annotations = workload.metadata.annotations
    return WorkloadOverrides(
        workload=workload.metadata.uid,
        active=is_active(workload),
        held_quota=holds_quota_of_another(workload),
        held_places=places_of_another(workload),
        priority_boost=boost(workload),
        gates=gated_by(annotations),
        preemption_gates=closed_gates(workload),
        checks=check_states(workload),
        checks_since=checks_since(workload),
        nominated=workload.status.nominated_cluster_names,
        deactivated=annotations.get(names.DEACTIVATED, ""),
        left_open=holding(workload.status.conditions, "Finished") is None,
    )


def is_beside(workload: Workload) -> bool:
    """Return whether an elastic job has another Workload: this slice is old, or will replace it.

    One that was evicted had taken over before.
    """
    annotations, conditions = workload.metadata.annotations, workload.status.conditions
    had = holding(conditions, "QuotaReserved") or holding(conditions, "Evicted")
    waits = names.SLICE_REPLACES in annotations and not had
    elastic = annotations.get(names.ELASTIC_JOB) == "true"
    return elastic and (waits or holding(conditions, "Finished") is not None)
