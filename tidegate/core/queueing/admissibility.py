"""Whether a workload may be admitted to its ClusterQueue at all, whatever quota there is.

Every path to an admission checks this: a scheduling cycle, a preemptor whose victims have stopped,
a reservation whose checks are ready, and the adoption of a workload for which Kueue had reserved
quota. So a change between two of these steps is noticed at the later one.

Source: behaviour.md 1 (admissibility validation), 8.4 (the order of the reasons), 8.9, 9.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from tidegate.contracts.decisions import PendingReason
from tidegate.contracts.observed.jobs import ON_HOLD
from tidegate.core.flavors.eligibility import requests_topology
from tidegate.core.members.cluster_status import closed_reason, unanswerable_check
from tidegate.core.members.placement import candidate_clusters, cluster_refusals
from tidegate.core.queueing.admission_checks import multikueue_check, required_checks
from tidegate.core.queueing.siblings import is_replaced_slice_evicted, must_wait_for_sibling
from tidegate.core.quota.charging import invalid_reason
from tidegate.core.state.budgets import spent_message
from tidegate.core.state.state import State, Workload
from tidegate.model.clusters import PLACEABLE
from tidegate.model.multikueue import CONTROLLER
from tidegate.model.podset import selector_matches

DEACTIVATED = "Deactivated"
NO_LOCAL_QUEUE = "LocalQueueNotFound"
LOCAL_QUEUE_STOPPED = "LocalQueueStopped"
LEADS_ELSEWHERE = "LocalQueueLeadsElsewhere"
CLUSTER_CLOSED = "ClusterSilent"
NO_CLUSTER_QUEUE = "ClusterQueueNotFound"
NO_PRIORITY_CLASS = "PriorityClassNotFound"
TERMINATING = "ClusterQueueTerminating"
INACTIVE = "ClusterQueueInactive"
BUDGET = "BudgetExhausted"
GATED, HELD = "AdmissionGatedBy", "OnHold"
SLICE_LEAVES = "ReplacedSliceLeaves"
VARIANT_LEAVES = "VariantLeaves"
CHECK_FAILED = "AdmissionCheckFailed"
UNANSWERED = "AdmissionCheckUnanswered"
UNPLACEABLE, UNPLACED = "Unplaceable", "NoClusterAccepts"
NO_NAMESPACE = "NamespaceNotFound"
NAMESPACE_MISMATCH = "NamespaceMismatch"
INVALID = "PodSetInvalid"
TOPOLOGY = "NoTopology"
UNMAPPED = "DeviceClass/"
"""Prefix of the gate of a workload that requests a device class without deviceClassMapping."""


class Blocker(msgspec.Struct, frozen=True, kw_only=True):
    """Why a workload may not be admitted, until something other than quota changes."""

    code: str  # one of the constants above
    reason: PendingReason  # of its condition QuotaReserved
    details: str  # in English, without a full stop


_Check: TypeAlias = Callable[[State, Workload], Blocker | None]


def admission_blocker(state: State, workload: Workload) -> Blocker | None:
    """Return the first reason against admitting a workload, whatever quota there is, or None.

    Changes nothing. Costs O(podsets).
    """
    return queueing_blocker(state, workload) or nomination_blocker(state, workload)


def may_be_queued(state: State, workload: Workload) -> bool:
    """Tell whether a workload may be in its ClusterQueue's queue, whether or not that is active."""
    return all(ask(state, workload) is None for ask in _QUEUED)


def is_listed(state: State, workload: Workload) -> bool:
    """Tell whether Kueue's queue has a pending workload at all, offered or not."""
    checks = (_check_active, _check_local_queue, _check_gates)
    return all(check(state, workload) is None for check in checks)


def is_namespace_selected(state: State, workload: Workload) -> bool:
    """Tell whether a workload's namespace exists and its ClusterQueue selects it."""
    return _check_namespace(state, workload) is None


def queueing_blocker(state: State, workload: Workload) -> Blocker | None:
    """Return why a workload's ClusterQueue does not offer it to a scheduling cycle."""
    return _first(_UNOFFERED, state, workload)


def nomination_blocker(state: State, workload: Workload) -> Blocker | None:
    """Return why a cycle refuses a workload that its ClusterQueue, which exists, offers."""
    return _first(_REFUSED, state, workload)


def _first(questions: tuple[_Check, ...], state: State, workload: Workload) -> Blocker | None:
    for ask in questions:
        if (blocked_by := ask(state, workload)) is not None:
            return blocked_by
    return None


def _check_active(state: State, workload: Workload) -> Blocker | None:
    del state
    if workload.active:
        return None
    return Blocker(code=DEACTIVATED, reason="Deactivated", details="its spec.active is false")


def _check_local_queue(state: State, workload: Workload) -> Blocker | None:
    local_queue_defined = state.objects.local_queues.get(workload.local_queue)
    if local_queue_defined is None:
        details = f"there is no LocalQueue {workload.queue or '(none is named)'}"
        return Blocker(code=NO_LOCAL_QUEUE, reason="Misconfigured", details=details)
    if workload.phase == "reserved" and local_queue_defined.spec.cluster_queue != (
        workload.cluster_queue
    ):
        details = f"LocalQueue {workload.queue} leads to another ClusterQueue by now"
        return Blocker(code=LEADS_ELSEWHERE, reason="PendingEvaluation", details=details)
    if local_queue_defined.spec.stop_policy == "None" and not local_queue_defined.deleting:
        return None
    details = f"LocalQueue {workload.queue} is stopped"
    return Blocker(code=LOCAL_QUEUE_STOPPED, reason="Suspended", details=details)


def _check_member_cluster(state: State, workload: Workload) -> Blocker | None:
    details = closed_reason(state, workload)
    return Blocker(code=CLUSTER_CLOSED, reason="Suspended", details=details) if details else None


def _check_cluster_queue(state: State, workload: Workload) -> Blocker | None:
    cq = state.forest.cluster_queues.get(workload.cluster_queue)
    if cq is None or cq.name in state.objects.removed_queues:
        local = state.objects.local_queues.get(workload.local_queue)
        name = workload.cluster_queue if local is None else local.spec.cluster_queue
        details = f"there is no ClusterQueue {name}"
        return Blocker(code=NO_CLUSTER_QUEUE, reason="Misconfigured", details=details)
    if cq.active:
        return None
    if state.objects.cluster_queues[cq.name].deleting:
        details = f"ClusterQueue {cq.name} is being deleted"
        return Blocker(code=TERMINATING, reason="Suspended", details=details)
    if details := spent_message(state, cq.name):
        return Blocker(code=BUDGET, reason="BudgetExhausted", details=details)
    details = f"ClusterQueue {cq.name} is inactive"
    return Blocker(code=INACTIVE, reason="Suspended", details=details)


def _check_priority_class(state: State, workload: Workload) -> Blocker | None:
    """Return that the class it names is not there; one that was keeps its last value.

    Source: behaviour.md 15.3.
    """
    del state
    if workload.class_known:
        return None
    own, pods = workload.priority_class, workload.pod_priority_class
    details = f"there is no {f'WorkloadPriorityClass {own}' if own else f'PriorityClass {pods}'}"
    return Blocker(code=NO_PRIORITY_CLASS, reason="Misconfigured", details=details)


def _check_gates(state: State, workload: Workload) -> Blocker | None:
    gates = workload.gates
    if CONTROLLER in gates and multikueue_check(state, workload.cluster_queue):
        # The check sends the job to a worker cluster, where it may run.
        gates = tuple(gate_name for gate_name in gates if gate_name != CONTROLLER)
    if not gates:
        return None
    details = "; ".join(_gate_details(name) for name in gates)
    if ON_HOLD.keys() >= {*gates}:
        return Blocker(code=HELD, reason="OnHold", details=details)
    return Blocker(code=GATED, reason="AdmissionGated", details=details)


def _gate_details(name: str) -> str:
    if name.startswith(UNMAPPED):
        device_class = name.removeprefix(UNMAPPED)
        return f"device class {device_class} is in no resources.deviceClassMappings"
    return ON_HOLD.get(name, f"it is gated by {name}")


def _check_replaced_slice(state: State, workload: Workload) -> Blocker | None:
    if not (workload.replaces and is_replaced_slice_evicted(state, workload)):
        return None
    details = f"{workload.replaces}, which it would replace, has to leave"
    return Blocker(code=SLICE_LEAVES, reason="PendingEvaluation", details=details)


def _check_siblings(state: State, workload: Workload) -> Blocker | None:
    """Return that a variant waits until the sibling that it replaces has stopped."""
    waits = workload.parent and workload.key not in state.intents
    if not (waits and must_wait_for_sibling(state, workload)):
        return None
    details = "another variant of it has to stop first"
    return Blocker(code=VARIANT_LEAVES, reason="WaitingForPreemptedWorkloads", details=details)


def _check_admission_checks(state: State, workload: Workload) -> Blocker | None:
    """Return that a check failed: of a reservation a required one, else any that has a state."""
    if not workload.checks:
        return None
    resources = list(workload.checks)
    if workload.phase == "reserved":
        resources = required_checks(state, workload.cluster_queue, workload.assignment)
    checks = (workload.checks.get(name) for name in resources)
    if not any(check is not None and check.state in ("Retry", "Rejected") for check in checks):
        return None
    details = "an admission check failed"
    return Blocker(code=CHECK_FAILED, reason="PendingEvaluation", details=details)


def _check_answered(state: State, workload: Workload) -> Blocker | None:
    name = unanswerable_check(state, workload)
    details = f"admission check {name} is not answered for jobs of member clusters"
    return Blocker(code=UNANSWERED, reason="Misconfigured", details=details) if name else None


def _check_placement(state: State, workload: Workload) -> Blocker | None:
    if details := _placement_conflict(state, workload):
        return Blocker(code=UNPLACEABLE, reason="Misconfigured", details=details)
    if not workload.body or candidate_clusters(state, workload):
        return None
    refusals = "; ".join(cluster_refusals(state, workload))
    details = refusals or "its ClusterQueue has no flavor of a member"
    return Blocker(code=UNPLACED, reason="NoClusterAccepts", details=details)


def _placement_conflict(state: State, workload: Workload) -> str:
    """Return why a job contradicts its LocalQueue's placement; empty: it does not."""
    defined = state.objects.local_queues.get(workload.local_queue)
    if defined is None:
        return ""
    queue, places = defined.name, defined.spec.placement == "any"
    if places and workload.job.kind not in PLACEABLE:
        return f"LocalQueue {queue} places jobs, and a {workload.job.kind} cannot run as a copy"
    if places and not workload.body:
        return (
            f"LocalQueue {queue} places jobs, and this one was made without spec.managedBy "
            "tidegate.dev/placed, which does not change: make it anew"
        )
    if workload.body and not places:
        return f"its spec.managedBy is tidegate.dev/placed, and LocalQueue {queue} places no jobs"
    if workload.body and (workload.elastic or workload.prebuilt or workload.replaces):
        return "elastic jobs and jobs with a Workload of their own cannot be placed"
    return ""


def _check_namespace(state: State, workload: Workload) -> Blocker | None:
    name = workload.key.partition("/")[0]
    namespace = state.objects.namespaces.get(name)
    if namespace is None:
        details = f"there is no namespace {name}"
        return Blocker(code=NO_NAMESPACE, reason="Misconfigured", details=details)
    cq = state.forest.cluster_queues[workload.cluster_queue]
    if selector_matches(cq.spec.namespace_selector, namespace.labels):
        return None
    details = "the ClusterQueue's namespaceSelector does not select its namespace"
    return Blocker(code=NAMESPACE_MISMATCH, reason="Misconfigured", details=details)


def _check_podsets(state: State, workload: Workload) -> Blocker | None:
    message = invalid_reason(state, workload)
    if not message:
        return None
    return Blocker(code=INVALID, reason="Misconfigured", details=message.rstrip("."))


def _check_topology(state: State, workload: Workload) -> Blocker | None:
    """Return that no flavor has the requested topology; in kueue mode nomination finds that."""
    cq = state.forest.cluster_queues[workload.cluster_queue]
    if cq.has_topologies or not state.scan.backtracks:
        return None
    if not any(requests_topology(podset) for podset in workload.podsets):
        return None
    details = "no flavor of the ClusterQueue has a Topology"
    return Blocker(code=TOPOLOGY, reason="NoMatchingFlavor", details=details)


_QUEUED: tuple[_Check, ...] = (
    _check_active,
    _check_member_cluster,
    _check_local_queue,
    _check_priority_class,
    _check_gates,
    _check_replaced_slice,
    _check_siblings,
)
_UNOFFERED: tuple[_Check, ...] = (*_QUEUED[:3], _check_cluster_queue, *_QUEUED[3:])
_REFUSED: tuple[_Check, ...] = (
    _check_admission_checks,
    _check_answered,
    _check_placement,
    _check_namespace,
    _check_podsets,
    _check_topology,
)
