"""Nodes that cannot run the pods placed on them any more: deleted, not ready or tainted.

A node that exists fails for a workload only if none of the workload's pods runs there: all have
ended, or none was bound yet. Whether one runs there is known only once the node's pods were
observed while it was failing.

Source: behaviour.md 12.6.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decision_kinds.placements import NodeFailed, NodeFailure
from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.state.state import State, Workload, about
from tidegate.core.topology.cluster import topologies
from tidegate.core.topology.fitting.matching import repels
from tidegate.core.topology.fitting.tree import Node
from tidegate.core.topology.usage import PlacedPods
from tidegate.model.gates import gate
from tidegate.model.podset import Toleration


def fail_nodes(state: State) -> Iterator[list[DecisionEvent]]:
    """Yield NodeFailed for each workload whose pods on a changed node need another node."""
    topology_state = topologies(state)
    while topology_state.changed:
        name = min(topology_state.changed)
        for key in sorted(topology_state.at_node.get(name, ())):
            workload = state.workloads[key]
            reason = _reason(state, workload, name)
            if reason is not None and name not in workload.failed_nodes:
                failed = NodeFailed(**about(state, workload), node=name, reason=reason)
                yield [failed]
        topology_state.changed.pop(name, None)


def _reason(state: State, workload: Workload, name: str) -> NodeFailure | None:
    if workload.phase != "admitted":
        return None
    holdings = (
        holding for holding in topologies(state).placed[workload.key] if holding.values == (name,)
    )
    return next((why for holding in holdings if (why := _failure(state, workload, holding))), None)


def _failure(state: State, workload: Workload, holding: PlacedPods) -> NodeFailure | None:
    placer = topologies(state).placers.get(holding.flavor)
    leaf = None if placer is None else placer.tree.number.get(holding.values)
    if placer is None or leaf is None:
        return "Gone"
    nodes = placer.tree.nodes[leaf].values()
    if all(node.spec.ready is None for node in nodes):
        return "Gone"
    deserted = all(_has_no_pod(state, node, workload) for node in nodes)
    unready = all(not node.spec.ready for node in nodes)
    if unready and deserted and gate(state.policy, "TASReplaceNodeOnPodTermination"):
        return "NotReady"
    tainted = deserted and _repels(state, workload, holding.flavor, list(nodes))
    return "Tainted" if tainted and gate(state.policy, "TASReplaceNodeOnNodeTaints") else None


def _has_no_pod(state: State, node: Node, workload: Workload) -> bool:
    """Tell whether it is known that no pod of a workload runs on a node."""
    node_pods_reported = state.objects.node_pods.get(node.name)
    if node_pods_reported is None or workload.key in node_pods_reported.ended:
        return node_pods_reported is not None
    return node_pods_reported.living is not None and not any(
        _may_be_of(state, key, workload) for key in node_pods_reported.living
    )


def _may_be_of(state: State, named: str, workload: Workload) -> bool:
    """Tell whether pods that name a workload may belong to another: any slice of an elastic job."""
    if named == workload.key or not workload.elastic:
        return named == workload.key
    other = state.workloads.get(named)
    return other is None or other.job.uid == workload.job.uid


def _repels(state: State, workload: Workload, flavor: str, nodes: list[Node]) -> bool:
    """Tell whether a taint of a node repels some pods of a workload."""
    defined = state.objects.flavors.get(flavor)
    of_flavor: tuple[Toleration, ...] = () if defined is None else defined.spec.tolerations
    return any(
        repels(taint, (*podset.tolerations, *of_flavor))
        for podset in workload.podsets
        for node in nodes
        for taint in node.spec.taints
    )
