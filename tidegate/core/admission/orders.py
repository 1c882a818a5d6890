"""Orders for the actuator: to start a job, with what its pod templates get, or to stop it.

Each order is complete, so that the newest one alone suffices. What a start adds to a podset's
template comes from flavors, checks, queues and topology; flavors' taints are not tolerated by
themselves.

Source: behaviour.md 9.2, 12.5, 15.4.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from tidegate.contracts.decision_kinds.copies import CopyOrdered
from tidegate.contracts.decisions import (
    DecisionEvent,
    PodSetStart,
    StartOrdered,
    StopOrdered,
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadRequeued,
)
from tidegate.core.flavors.eligibility import requests_topology
from tidegate.core.members.placement import startable_copy
from tidegate.core.state.desired_state import stays_gated
from tidegate.core.state.state import State, Workload, decision_fields
from tidegate.model.clusters import local_name
from tidegate.model.gates import gate_enabled
from tidegate.model.podset import PodSetAssignment, PodSetUpdate, Toleration

ADMISSION_GATE = "kueue.x-k8s.io/admission"
"""The scheduling gate of pods that wait for their admission."""
PODSET_LABEL = "kueue.x-k8s.io/podset"
LOCAL_QUEUE_LABEL = "kueue.x-k8s.io/local-queue-name"
CLUSTER_QUEUE_LABEL = "kueue.x-k8s.io/cluster-queue-name"
WORKLOAD_ANNOTATION = "kueue.x-k8s.io/workload"
UNCONSTRAINED_ANNOTATION = "kueue.x-k8s.io/podset-unconstrained-topology"
TOPOLOGY_GATE = "kueue.x-k8s.io/topology"
FAILED_TO_START = "FailedToStart"
"""Cause of the deactivation of a workload whose job cannot start as it is assigned."""
_LABEL_VALUES = {
    LOCAL_QUEUE_LABEL: re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?"),
    CLUSTER_QUEUE_LABEL: re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"),
}
"""Which names become labels: of ClusterQueues, as in Kueue, only those without dots."""
_MAPS = ("labels", "annotations", "node_selector")


def start_order(state: State, workload: Workload) -> StartOrdered | CopyOrdered:
    """Return the order to start a workload's job by its assignment.

    Pods that run in a worker cluster stay gated here: they get nothing but the order's marks. For a
    placed job it is the order to create its copy, or to start the copy once it exists.
    """
    copy = startable_copy(state, workload) if workload.body else None
    if workload.body and copy is None:
        return _copy_order(state, workload)
    starts = _injected_podsets(state, workload)
    if stays_gated(workload):
        starts = tuple(
            PodSetStart(name=start.name, count=start.count, gates=(ADMISSION_GATE,))
            for start in starts
        )
    return StartOrdered(
        **decision_fields(state, workload),
        job=workload.job if copy is None else copy.ref,
        podsets=starts,
        generation=workload.state.generation,
    )


def start_decisions(state: State, workload: Workload) -> list[DecisionEvent]:
    """Return the decisions that admit a workload with reserved quota and order its job to start."""
    admitted = WorkloadAdmitted(
        **decision_fields(state, workload),
        queue=workload.queue,
        waited_us=max(0, state.now_us - workload.created_us) if workload.created_us else 0,
    )
    return [admitted, start_order(state, workload)]


def _copy_order(state: State, workload: Workload) -> CopyOrdered:
    return CopyOrdered(
        **decision_fields(state, workload),
        job=workload.job,
        copy=replace(workload.job, uid="", cluster=workload.cluster),
        body=workload.body,
    )


def stop_orders(
    state: State, workload: Workload, *, reason: str, message: str = ""
) -> list[StopOrdered]:
    """Return the order to stop a workload's job, whether it was started or not.

    Empty for a placed job: it does not run at home, and its copy is deleted by another order.
    """
    if workload.body:
        return []
    order = StopOrdered(
        **decision_fields(state, workload),
        job=workload.job,
        reason=reason,
        message=message,
        podsets=_added_by_start(state, workload),
    )
    return [order]


def _added_by_start(state: State, workload: Workload) -> tuple[PodSetStart, ...]:
    """Return what the last start of a job added to it, with its podsets' present counts."""
    if workload.order is None or workload.order.kind != "start":
        return ()
    requests = {podset.name: podset.count for podset in workload.podsets}
    return tuple(
        replace(start, count=requests.get(start.name, start.count))
        for start in _injected_podsets(state, workload)
    )


def requeue_event(state: State, workload: Workload, reason: str) -> WorkloadRequeued:
    """Return that a workload is pending again: at once, or once its back-off is over."""
    after_us = workload.requeue_after_us
    return WorkloadRequeued(
        **decision_fields(state, workload),
        reason=reason,
        after_us=after_us if after_us > state.now_us else 0,
        attempts=workload.requeue_count,
    )


def eviction_event(
    state: State, workload: Workload, reason: str, *, cause: str = "", message: str = ""
) -> WorkloadEvicted:
    """Return the decision to evict a workload, which is to lose its quota."""
    return WorkloadEvicted(
        **decision_fields(state, workload), reason=reason, cause=cause, message=message
    )


def eviction_decisions(
    state: State, workload: Workload, reason: str, *, cause: str = "", message: str = ""
) -> list[DecisionEvent]:
    """Return the decisions that evict a workload with quota and order its job to stop."""
    event = eviction_event(state, workload, reason, cause=cause, message=message)
    return [event, *stop_orders(state, workload, reason=reason, message=message)]


def _injected_podsets(state: State, workload: Workload) -> tuple[PodSetStart, ...]:
    """Return what a start adds to the podsets; where these conflict, the check's value wins."""
    return tuple(_podset_start(state, workload, assignment) for assignment in workload.assignment)


def failed_start_decisions(state: State, workload: Workload) -> list[DecisionEvent]:
    """Return the eviction of a workload that cannot start as it is assigned; empty: it can."""
    if message := template_conflict(state, workload):
        return eviction_decisions(
            state, workload, "Deactivated", cause=FAILED_TO_START, message=message
        )
    return []


def template_conflict(state: State, workload: Workload) -> str:
    """Return the first conflict between flavors, checks and the job's own template; "" if none."""
    own = {podset.name: podset.node_selector for podset in workload.podsets}
    for assignment in workload.assignment:
        base = _flavor_injections(state, workload, assignment)
        selectors = own.get(assignment.name, {})
        start = PodSetUpdate(
            name=assignment.name,
            labels=base.labels,
            node_selector={**selectors, **base.node_selector},
        )
        of_checks = workload.ready_updates(assignment.name)
        updates = [("its flavor", start), *((f"check {name}", each) for name, each in of_checks)]
        message = _first_conflict(updates)
        if message:
            return f"Podset {assignment.name}: {message}."
    return ""


def _first_conflict(updates: list[tuple[str, PodSetUpdate]]) -> str:
    for field in _MAPS:
        values: dict[str, tuple[str, str]] = {}
        for source, update in updates:
            for key, value in sorted(getattr(update, field).items()):
                other, before = values.setdefault(key, (source, value))
                if before != value:
                    kind = field.replace("_", " ").removesuffix("s")
                    return f"{source} wants {kind} {key}={value}, and {other} {key}={before}"
    return ""


def _podset_start(state: State, workload: Workload, assignment: PodSetAssignment) -> PodSetStart:
    base = _flavor_injections(state, workload, assignment)
    topology_requests = {podset.name: podset.topology for podset in workload.podsets}
    wishing = {podset.name for podset in workload.podsets if requests_topology(podset)}
    labels, annotations = dict(base.labels), dict(base.annotations)
    selector, tolerations = dict(base.node_selector), dict.fromkeys(base.tolerations)
    for _, update in workload.ready_updates(assignment.name):
        labels |= update.labels
        annotations |= update.annotations
        selector |= update.node_selector
        tolerations |= dict.fromkeys(update.tolerations)
    placed = assignment.topology is not None
    if placed:  # pods name their Workload, and stay gated until each has its domain
        annotations[WORKLOAD_ANNOTATION] = local_name(workload.key.rpartition("/")[2])
        if assignment.name not in wishing:  # so that its pods are not counted beside the assignment
            annotations[UNCONSTRAINED_ANNOTATION] = "true"
    return PodSetStart(
        name=assignment.name,
        count=assignment.count,
        node_selector={key: selector[key] for key in sorted(selector)},
        tolerations=tuple(tolerations),
        labels=labels,
        annotations=annotations,
        gates=(TOPOLOGY_GATE,) if placed else (),
        topology=assignment.topology,
        topology_request=topology_requests.get(assignment.name) if placed else None,
    )


def _flavor_injections(
    state: State, workload: Workload, assignment: PodSetAssignment
) -> PodSetStart:
    selector: dict[str, str] = {}
    tolerations: dict[Toleration, None] = {}
    for name in dict.fromkeys(
        assignment.flavors[resource] for resource in sorted(assignment.flavors)
    ):
        defined = state.objects.flavors.get(name)
        if defined is not None:
            selector |= defined.spec.node_labels
            tolerations |= dict.fromkeys(defined.spec.tolerations)
    return PodSetStart(
        name=assignment.name,
        count=assignment.count,
        node_selector=selector,
        tolerations=tuple(tolerations),
        labels={PODSET_LABEL: assignment.name} | _queue_labels(state, workload),
    )


def _queue_labels(state: State, workload: Workload) -> dict[str, str]:
    if not gate_enabled(state.policy, "AssignQueueLabelsForPods"):
        return {}
    labels = {LOCAL_QUEUE_LABEL: workload.queue, CLUSTER_QUEUE_LABEL: workload.cluster_queue}
    return {key: name for key, name in labels.items() if _LABEL_VALUES[key].fullmatch(name)}
