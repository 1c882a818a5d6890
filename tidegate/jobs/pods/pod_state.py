"""The state of a pod: whether it waits behind its gates, runs, is ready or ended.

A gate cannot be added to a Pod, but a node selector can while it has another gate.
"""

from __future__ import annotations

import msgspec

from tidegate.contracts.decisions import PodSetStart
from tidegate.jobs.kind import Object
from tidegate.kinds import names
from tidegate.kinds.meta import true_condition
from tidegate.kinds.pods import Pod
from tidegate.model.topology import unpack

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
    lost = pod.metadata.is_deleted_without_grace or (
        pod.metadata.is_deleting and not pod.spec.node_name
    )
    return not (is_gated(pod) or is_finished(pod) or lost)


def is_ready(pod: Pod) -> bool:
    """Return whether a pod is ready."""
    return true_condition(pod.status.conditions, "Ready") is not None


def gates_of(pod: Object) -> list[Object]:
    """Return the gates of a pod that waits for its admission; none of one that does not."""
    return pod["spec"]["schedulingGates"] if is_awaiting_admission(pod) else []


def is_awaiting_admission(pod: Object) -> bool:
    """Return whether a pod waits for its admission."""
    gates = pod["spec"].get("schedulingGates", ())
    return any(gate["name"] == names.ADMISSION_GATE for gate in gates)


def missing_gate(pod: Object, podset: PodSetStart) -> str:
    """Return a sentence about a start's scheduling gate that a pod lacks; empty if none."""
    missing = sorted({*podset.gates} - {gate["name"] for gate in gates_of(pod)})
    if not missing:
        return ""
    return f"The pod was created without the scheduling gate {missing[0]}: recreate it."


def with_single_domain(podset: PodSetStart) -> PodSetStart:
    """Return a start for pods without the topology's gate: with their domain, if it is only one."""
    domains = () if podset.topology is None else unpack(podset.topology)
    if podset.topology is None or len(domains) != 1:
        return podset
    selector = dict(zip(podset.topology.levels, domains[0].values, strict=True))
    return msgspec.structs.replace(
        podset,
        node_selector={**podset.node_selector, **selector},
        gates=tuple(gate for gate in podset.gates if gate != names.TOPOLOGY_GATE),
    )
