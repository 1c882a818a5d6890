"""The state of a pod: whether it waits, runs, is ready or ended."""

from __future__ import annotations

from tidegate.kinds import names
from tidegate.kinds.meta import holding
from tidegate.kinds.pods import Pod

OUTCOMES = ("Succeeded", "Failed")


def is_gated(pod: Pod) -> bool:
    """Return whether a pod waits for its admission."""
    return any(gate.get("name") == names.ADMISSION_GATE for gate in pod.spec.scheduling_gates)


def is_finished(pod: Pod) -> bool:
    """Return whether a pod ended."""
    return pod.status.phase in OUTCOMES


def is_active(pod: Pod) -> bool:
    """Return whether a pod runs or may run, one that is being deleted included.

    One that is deleted before it has a node never gets one: the API server refuses to bind it. One
    that ended on its node, or was deleted by force, would be gone but for the finalizer.
    """
    lost = pod.metadata.deleted or (pod.metadata.deleting and not pod.spec.node_name)
    return not (is_gated(pod) or is_finished(pod) or lost)


def is_ready(pod: Pod) -> bool:
    """Return whether a pod is ready."""
    return holding(pod.status.conditions, "Ready") is not None
