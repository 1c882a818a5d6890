"""Pods and their scheduling gates."""

from __future__ import annotations

from typing import Any

from tidegate.jobs.pods.pod_state import is_finished
from tidegate.kinds.pods import Pod


def is_behind(pod: Pod, gate: str) -> bool:
    """Return whether a pod has a gate."""
    return any(scheduling_gate.get("name") == gate for scheduling_gate in pod.spec.scheduling_gates)


def without(pod: Pod, gate: str) -> list[dict[str, Any]] | None:
    """Return the gates of a pod but one, as a patch has them; None: it has no others."""
    return [other for other in pod.spec.scheduling_gates if other.get("name") != gate] or None


def runs(pod: Pod, gate: str) -> bool:
    """Return whether a pod was ungated and has not ended."""
    return not is_behind(pod, gate) and not is_finished(pod)


def waits(pod: Pod, gate: str) -> bool:
    """Return whether a pod has a scheduling gate, and may be ungated later."""
    return is_behind(pod, gate) and not pod.metadata.deleting and not is_finished(pod)
