"""Fields of a Workload in its annotations, labels and references."""

from __future__ import annotations

from typing import Literal

from tidegate.jobs.job_metadata import is_elastic
from tidegate.jobs.name_lists import listed
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import ObjectMeta, holding
from tidegate.model.texts import INT32_MAX, is_name, signed


def class_of(workload: Workload, kind: Literal["WorkloadPriorityClass", "PriorityClass"]) -> str:
    """Return the name of its priority class of a kind; empty if it has none of that kind."""
    reference = workload.spec.priority_class_ref
    return reference.name if reference is not None and reference.kind == kind else ""


def is_active(workload: Workload) -> bool:
    """Tell whether a Workload is active, as its owner and its manager's cluster wish.

    The manager of a worker cluster deactivates a copy by a condition: it does not own the spec.

    Source: multikueue.md 2.5, step 6.
    """
    deactivated = holding(workload.status.conditions, "DeactivationTarget") is not None
    return workload.spec.active and not deactivated


def allowed_flavors(workload: Workload) -> tuple[str, ...] | None:
    """Return the flavors that a variant may have; None: any."""
    text = workload.metadata.annotations.get(names.ALLOWED_FLAVORS)
    return None if text is None else listed(text)


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


def boost(workload: Workload) -> int:
    """Return what its annotation adds to its priority; 0 if that is no 32-bit number."""
    return signed(workload.metadata.annotations.get(names.PRIORITY_BOOST, ""), INT32_MAX) or 0


def replaced(meta: ObjectMeta) -> str:
    """Return the Workload that a slice is to take the place of; empty: none."""
    namespace, _, name = meta.annotations.get(names.SLICE_REPLACES, "").partition("/")
    is_valid = is_elastic(meta.annotations) and namespace == meta.namespace and is_name(name)
    return f"{namespace}/{name}" if is_valid else ""
