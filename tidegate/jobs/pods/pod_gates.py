"""Scheduling gates of a queued Pod, and what it is given where it lacks one.

A gate cannot be added to a Pod, but a node selector can while it has another gate.
"""

from __future__ import annotations

import msgspec

from tidegate.contracts.decisions import PodSetStart
from tidegate.jobs.kind import Object
from tidegate.kinds import names
from tidegate.model.topology import unpack


def gates_of(pod: Object) -> list[Object]:
    """Return the gates of a pod that waits for its admission; none of one that does not."""
    return pod["spec"]["schedulingGates"] if is_held(pod) else []


def is_held(pod: Object) -> bool:
    """Return whether a pod waits for its admission."""
    gates = pod["spec"].get("schedulingGates", ())
    return any(gate["name"] == names.ADMISSION_GATE for gate in gates)


def lacking(pod: Object, podset: PodSetStart) -> str:
    """Return in a sentence which gate of a start a pod lacks; empty if none."""
    missing = sorted({*podset.gates} - {gate["name"] for gate in gates_of(pod)})
    if not missing:
        return ""
    return f"The pod was created without the scheduling gate {missing[0]}: recreate it."


def with_its_domain(podset: PodSetStart) -> PodSetStart:
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
