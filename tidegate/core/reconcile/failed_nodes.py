"""Which nodes cannot run the pods that are placed there any more: gone, not ready or tainted.

Source: behaviour.md 12.6.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decision_kinds.placements import NodeFailed, NodeFailure
from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.state.state import State, Workload
from tidegate.core.topology.cluster import topologies
from tidegate.core.topology.fitting.matching import repels
from tidegate.core.topology.fitting.tree import Node
from tidegate.core.topology.usage import Held
from tidegate.model.gates import gate
from tidegate.model.podset import Toleration


def fail_nodes(state: State) -> Iterator[list[DecisionEvent]]:
    """Say of each workload on a node that changed whether its pods there need another place."""
    found = topologies(state)
    while found.changed:
        name = min(found.changed)
        for key in sorted(found.at_node.get(name, ())):
            workload = state.workloads[key]
            reason = _reason(state, workload, name)
            if reason is not None and name not in workload.failed_nodes:
                failed = NodeFailed(
                    at_us=state.now_us,
                    workload=key,
                    uid=workload.uid,
                    cluster_queue=workload.cluster_queue,
                    node=name,
                    reason=reason,
                )
                yield [failed]
        found.changed.pop(name, None)


def _reason(state: State, workload: Workload, name: str) -> NodeFailure | None:
    if workload.phase != "admitted":
        return None
    held = (one for one in topologies(state).held[workload.key] if one.values == (name,))
    return next((why for one in held if (why := _failure(state, workload, one))), None)


def _failure(state: State, workload: Workload, held: Held) -> NodeFailure | None:
    placer = topologies(state).placers.get(held.flavor)
    leaf = None if placer is None else placer.tree.number.get(held.values)
    if placer is None or leaf is None:
        return "Gone"
    nodes = placer.tree.nodes[leaf].values()
    if all(one.spec.ready is None for one in nodes):
        return "Gone"
    ended = all(_has_ended(state, one, workload) for one in nodes)
    unready = all(not one.spec.ready for one in nodes)
    if unready and ended and gate(state.policy, "TASReplaceNodeOnPodTermination"):
        return "NotReady"
    tainted = ended and _repels(state, workload, held.flavor, list(nodes))
    return "Tainted" if tainted and gate(state.policy, "TASReplaceNodeOnNodeTaints") else None


def _has_ended(state: State, node: Node, workload: Workload) -> bool:
    told = state.objects.node_pods.get(node.name)
    return told is not None and workload.key in told.ended


def _repels(state: State, workload: Workload, flavor: str, nodes: list[Node]) -> bool:
    """Tell whether a taint keeps off some pods of the workload."""
    defined = state.objects.flavors.get(flavor)
    of_flavor: tuple[Toleration, ...] = () if defined is None else defined.spec.tolerations
    return any(
        repels(taint, (*podset.tolerations, *of_flavor))
        for podset in workload.podsets
        for node in nodes
        for taint in node.spec.taints
    )
