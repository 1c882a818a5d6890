"""Kubernetes Events on the pods of a group, and on its Workload, as its orders are carried out.

A group has no object of its own, so its pods get what other jobs get. Reasons and messages are
Kueue's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from actuator.projection.k8s_events import event_about
from tidegate.core.admission.orders import CLUSTER_QUEUE_LABEL
from tidegate.jobs.kind import Delete, Object, Patch, Start, Step, Stop
from tidegate.jobs.pods.pod_state import is_awaiting_admission
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import ADMISSION_GATE, API_VERSION

RecordsEvent: TypeAlias = Callable[[Object], None]
"""Queues a Kubernetes Event; nothing depends on it."""


def pod_events(order: Start | Stop, obj: Object, step: Step) -> list[Object]:
    """Return the Event about one of a group's pods after a step; most steps have none.

    ``obj`` is the pod before the step.
    """
    match order, step:
        case Start(), Patch() if removes_gate(obj, step):
            text = "Started", f"Admitted by clusterQueue {order.order.cluster_queue}"
        case Start(), Delete():
            text = "ExcessPodDeleted", "Excess pod deleted"
        case Stop(), Delete():
            message = order.order.message
            text = (
                "Stopped",
                message or f"{order.order.reason or 'Stopped'}: its quota was taken back",
            )
        case _:
            return []
    return [_event(order, obj, ("v1", "Pod"), text)]


def started_event(meta: ObjectMeta, patch: Patch, at_us: int) -> Object:
    """Return the Event about a pod whose object was started before it; ``patch`` lets it go."""
    labels = patch.body.get("metadata", {}).get("labels", {})
    queue = labels.get(CLUSTER_QUEUE_LABEL, "")
    regarding = {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
    }
    message = f"Admitted by clusterQueue {queue}" if queue else "Admitted"
    return event_about(regarding, f"{at_us:x}.p", at_us, ("Normal", "Started", message))


def owners_added_event(order: Start, workload: Object, count: int) -> Object:
    """Return the Event about a Workload that so many more pods own."""
    message = f"Added {count} owner reference(s)"
    return _event(order, workload, (API_VERSION, "Workload"), ("OwnerReferencesAdded", message))


def _event(
    order: Start | Stop, obj: Object, kind: tuple[str, str], text: tuple[str, str]
) -> Object:
    meta = obj["metadata"]
    regarding = {
        "apiVersion": kind[0],
        "kind": kind[1],
        **{field: meta[field] for field in ("namespace", "name", "uid")},
    }
    return event_about(regarding, f"{order.seq:x}.p", order.order.at_us, ("Normal", *text))


def removes_gate(pod: Object, step: Patch) -> bool:
    """Return whether a patch of a pod takes the gate off that holds it until it is admitted."""
    spec = step.body.get("spec", {})
    stays = [gate["name"] for gate in spec.get("schedulingGates") or ()]
    return is_awaiting_admission(pod) and "schedulingGates" in spec and ADMISSION_GATE not in stays
