"""Which controller reserved quota for a Workload: Tidegate, by which decision, or another."""

from __future__ import annotations

from itertools import islice

from tidegate.jobs.job_metadata import written_decision
from tidegate.kinds import names
from tidegate.kinds.kueue_api.queues.conversion import topology_assignment
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import Condition, holding
from tidegate.model.topology import TopologyAssignment

DOMAINS_MAX, _PODSETS_MAX = 10_000, 18
"""A place of more domains than so many is not taken over."""


def holds_quota_of_another(workload: Workload) -> bool:
    """Return whether another controller, not Tidegate, has reserved quota for it."""
    return holding(workload.status.conditions, "QuotaReserved") is not None and not _is_ours(
        workload
    )


def places_of_another(workload: Workload) -> dict[str, TopologyAssignment]:
    """Return where the controller that reserved quota for it has placed podsets, by name.

    An assignment that is too large or inconsistent is left out.
    """
    if workload.status.admission is None or not holds_quota_of_another(workload):
        return {}
    places = (
        (assignment.name, topology_assignment(assignment.topology_assignment))
        for assignment in islice(workload.status.admission.pod_set_assignments, _PODSETS_MAX)
        if assignment.topology_assignment is not None
    )
    return {name: place for name, place in places if _is_whole(place)}


def runs(workload: Workload) -> bool:
    """Return whether it may run."""
    order = _order(workload)
    return order is not None and order.status == "True"


def decision_of(workload: Workload) -> str:
    """Return the decision of ours that it was started or stopped by last; "" if by none."""
    order = _order(workload)
    return "" if order is None else written_decision(order.message)


def _order(workload: Workload) -> Condition | None:
    return next(
        (condition for condition in workload.status.conditions if condition.type == names.ORDERED),
        None,
    )


def _is_ours(workload: Workload) -> bool:
    return names.DECISION in workload.metadata.annotations or bool(decision_of(workload))


def _is_whole(place: TopologyAssignment) -> bool:
    """Return whether each domain has a value for each level, and a number of pods."""
    if sum(max(0, topology_slice.domains) for topology_slice in place.slices) > DOMAINS_MAX:
        return False
    return all(
        len(topology_slice.values) == len(place.levels)
        and topology_slice.domains > 0
        and len(topology_slice.pods_each or range(topology_slice.domains)) == topology_slice.domains
        and all(pods > 0 for pods in topology_slice.pods_each or (topology_slice.pods,))
        and all(
            len(level.roots) == topology_slice.domains
            for level in topology_slice.values
            if level.universal is None
        )
        for topology_slice in place.slices
    )
