"""What the actuator is told: where a job's pods go when it starts, and that it shall stop.

An order says all that is to be done, so that the newest one alone suffices.
Source: behaviour.md 15.4; flavors' taints are not tolerated by themselves.
"""

from __future__ import annotations

import re

from tidegate.contracts.decisions import PodSetStart, StartOrdered, StopOrdered
from tidegate.core.draft import Draft, Workload
from tidegate.model.podset import PodSetAssignment, Toleration

PODSET_LABEL = "kueue.x-k8s.io/podset"
LOCAL_QUEUE_LABEL = "kueue.x-k8s.io/local-queue-name"
CLUSTER_QUEUE_LABEL = "kueue.x-k8s.io/cluster-queue-name"
QUEUE_LABELS_GATE = "AssignQueueLabelsForPods"
_LABEL_VALUE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def start_order(draft: Draft, workload: Workload) -> StartOrdered:
    """Return the order to start a workload's job as it was assigned."""
    return StartOrdered(
        at_us=draft.now_us,
        workload=workload.key,
        uid=workload.uid,
        cluster_queue=workload.cluster_queue,
        job=workload.job,
        podsets=tuple(_podset(draft, workload, given) for given in workload.assignment),
        generation=workload.state.generation,
    )


def stop_order(draft: Draft, workload: Workload, *, reason: str, message: str = "") -> StopOrdered:
    """Return the order to stop a workload's job, whether it was started or not."""
    return StopOrdered(
        at_us=draft.now_us,
        workload=workload.key,
        uid=workload.uid,
        cluster_queue=workload.cluster_queue,
        job=workload.job,
        reason=reason,
        message=message,
    )


def _podset(draft: Draft, workload: Workload, given: PodSetAssignment) -> PodSetStart:
    selector: dict[str, str] = {}
    tolerations: dict[Toleration, None] = {}
    for name in dict.fromkeys(given.flavors[resource] for resource in sorted(given.flavors)):
        defined = draft.objects.flavors.get(name)
        if defined is not None:
            selector |= defined.spec.node_labels
            tolerations |= dict.fromkeys(defined.spec.tolerations)
    return PodSetStart(
        name=given.name,
        count=given.count,
        node_selector={key: selector[key] for key in sorted(selector)},
        tolerations=tuple(tolerations),
        labels={PODSET_LABEL: given.name} | _queue_labels(draft, workload),
    )


def _queue_labels(draft: Draft, workload: Workload) -> dict[str, str]:
    if not draft.policy.gates.get(QUEUE_LABELS_GATE, True):
        return {}
    labels = {LOCAL_QUEUE_LABEL: workload.queue, CLUSTER_QUEUE_LABEL: workload.cluster_queue}
    return {key: name for key, name in labels.items() if _LABEL_VALUE.fullmatch(name)}
