"""Fields of a Workload in annotations, labels and references, and who reserved quota for it.

Another controller may have reserved it: its annotation or its conditions tell, or Tidegate has, by
which decision.
"""

from __future__ import annotations

from itertools import islice
from typing import Literal

from tidegate.jobs.gates import split_names
from tidegate.jobs.job_metadata import is_elastic, valid_decision
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workloads.conversion import topology_assignment
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import Condition, ObjectMeta, true_condition
from tidegate.model.texts import INT32_MAX, is_name, parse_signed
from tidegate.model.topology import TopologyAssignment

DOMAINS_MAX, _PODSETS_MAX = 10_000, 18
"""A place of more domains than so many is not taken over."""


def priority_class_of(
    workload: Workload, kind: Literal["WorkloadPriorityClass", "PriorityClass"]
) -> str:
    """Return the name of its priority class of a kind; empty if it has none of that kind."""
    reference = workload.spec.priority_class_ref
    return reference.name if reference is not None and reference.kind == kind else ""


def is_active(workload: Workload) -> bool:
    """Tell whether a Workload is active, as its owner and its manager's cluster wish.

    The manager of a worker cluster deactivates a copy by a condition: it does not own the spec.

    Source: multikueue.md 2.5, step 6.
    """
    deactivated = true_condition(workload.status.conditions, "DeactivationTarget") is not None
    return workload.spec.active and not deactivated


def allowed_flavors(workload: Workload) -> tuple[str, ...] | None:
    """Return the flavors that a variant may have; None: any."""
    text = workload.metadata.annotations.get(names.ALLOWED_FLAVORS)
    return None if text is None else split_names(text)


def variant_of(meta: ObjectMeta) -> str:
    """Return the key of the Workload that a Workload is a variant of; empty: of none."""
    owner = meta.controller()
    generated = owner is not None and owner.api_version.partition("/")[0] == names.GROUP
    parent = owner.name if owner is not None and generated and owner.kind == "Workload" else ""
    return f"{meta.namespace}/{parent}" if parent else ""


def closed_gates(workload: Workload) -> tuple[str, ...]:
    """Return the preemption gates that are still closed."""
    opened = {gate.name for gate in workload.status.preemption_gates if gate.position == "Open"}
    return tuple(gate.name for gate in workload.spec.preemption_gates if gate.name not in opened)


def priority_boost(workload: Workload) -> int:
    """Return what its annotation adds to its priority; 0 if that is no 32-bit number."""
    return parse_signed(workload.metadata.annotations.get(names.PRIORITY_BOOST, ""), INT32_MAX) or 0


def replaced_slice(meta: ObjectMeta) -> str:
    """Return the name of the Workload slice that a Workload replaces; empty: none."""
    namespace, _, name = meta.annotations.get(names.SLICE_REPLACES, "").partition("/")
    is_valid = is_elastic(meta.annotations) and namespace == meta.namespace and is_name(name)
    return f"{namespace}/{name}" if is_valid else ""


def has_quota_elsewhere(workload: Workload) -> bool:
    """Return whether another controller, not Tidegate, has reserved quota for it."""
    return true_condition(workload.status.conditions, "QuotaReserved") is not None and not _is_ours(
        workload
    )


def topology_elsewhere(workload: Workload) -> dict[str, TopologyAssignment]:
    """Return where the controller that reserved quota for it has placed podsets, by name.

    An assignment that is too large or inconsistent is left out.
    """
    if workload.status.admission is None or not has_quota_elsewhere(workload):
        return {}
    places = (
        (assignment.name, topology_assignment(assignment.topology_assignment))
        for assignment in islice(workload.status.admission.pod_set_assignments, _PODSETS_MAX)
        if assignment.topology_assignment is not None
    )
    return {name: place for name, place in places if _is_complete(place)}


def may_run(workload: Workload) -> bool:
    """Return whether the condition of Tidegate permits a Workload to run."""
    order = _order(workload)
    return order is not None and order.status == "True"


def decision_of(workload: Workload) -> str:
    """Return the decision of ours that it was started or stopped by last; "" if by none."""
    order = _order(workload)
    return "" if order is None else valid_decision(order.message)


def _order(workload: Workload) -> Condition | None:
    return next(
        (condition for condition in workload.status.conditions if condition.type == names.ORDERED),
        None,
    )


def _is_ours(workload: Workload) -> bool:
    return names.DECISION in workload.metadata.annotations or bool(decision_of(workload))


def _is_complete(place: TopologyAssignment) -> bool:
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
