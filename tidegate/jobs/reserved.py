"""Who has reserved quota for a Workload: Tidegate, by which decision, or another controller."""

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


def holds_quota_of_another(found: Workload) -> bool:
    """Tell whether another controller, not Tidegate, has reserved quota for it."""
    return holding(found.status.conditions, "QuotaReserved") is not None and not _is_ours(found)


def places_of_another(found: Workload) -> dict[str, TopologyAssignment]:
    """Return where the controller that reserved quota for it has placed podsets, by name.

    What is larger than anybody would have, or does not fit together, is left out.
    """
    if found.status.admission is None or not holds_quota_of_another(found):
        return {}
    places = (
        (one.name, topology_assignment(one.topology_assignment))
        for one in islice(found.status.admission.pod_set_assignments, _PODSETS_MAX)
        if one.topology_assignment is not None
    )
    return {name: place for name, place in places if _is_whole(place)}


def runs(found: Workload) -> bool:
    """Tell whether it may run."""
    order = _order(found)
    return order is not None and order.status == "True"


def decision_of(found: Workload) -> str:
    """Return the decision of ours that it was started or stopped by last; "" if by none."""
    order = _order(found)
    return "" if order is None else written_decision(order.message)


def _order(found: Workload) -> Condition | None:
    return next((one for one in found.status.conditions if one.type == names.ORDERED), None)


def _is_ours(found: Workload) -> bool:
    return names.DECISION in found.metadata.annotations or bool(decision_of(found))


def _is_whole(place: TopologyAssignment) -> bool:
    """Tell whether each domain has a value for each level, and a number of pods."""
    if sum(max(0, one.domains) for one in place.slices) > DOMAINS_MAX:
        return False
    return all(
        len(one.values) == len(place.levels)
        and one.domains > 0
        and len(one.pods_each or range(one.domains)) == one.domains
        and all(pods > 0 for pods in one.pods_each or (one.pods,))
        and all(len(level.roots) == one.domains for level in one.values if level.universal is None)
        for one in place.slices
    )
