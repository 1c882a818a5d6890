"""Builds a state's topologies from definitions and nodes, and charges its workloads there.

Source: behaviour.md 12.1, 12.2.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tidegate.contracts.fact_kinds.definitions import NodeDefined
from tidegate.contracts.phases import HOLDING
from tidegate.core.flavors.eligibility import requests_topology
from tidegate.core.quota.requests import placement_requests
from tidegate.core.state.state import Intent, State, Workload, make_room
from tidegate.core.topology.claims import foreign_usage
from tidegate.core.topology.evictable import Moves, Rank
from tidegate.core.topology.fitting.tree import PODS, Node, build
from tidegate.core.topology.place import Options, Placer
from tidegate.core.topology.usage import PlacedPods, Topologies
from tidegate.model.gates import gate_enabled
from tidegate.model.podset import PodSet, PodSetAssignment
from tidegate.model.quota import FlavorSpec
from tidegate.model.texts import INT32_MAX
from tidegate.model.topology import HOSTNAME, first_pods, unpack

_encode = msgspec.msgpack.Encoder().encode


def topologies(state: State) -> Topologies:
    """Return the state's topologies; builds them again if definitions or nodes have changed."""
    tops = state.forest.topologies
    if tops.stale:
        _rebuild(state, tops)
    return tops


def charge_placement(state: State, workload: Workload) -> None:
    """Charge a workload's pods to the nodes of its assignment, in place of earlier ones."""
    tops = state.forest.topologies
    if tops.stale:
        return  # the next build charges all workloads
    _charge_pods(state, tops, workload)
    _recount_foreign_pods(state, tops, workload)


def update_rank(state: State, workload: Workload, *, leaves: bool = False) -> None:
    """Note that a placed workload has another priority, or that it is being evicted."""
    tops = state.forest.topologies
    if not tops.stale and workload.key in tops.placed:
        tops.moves.record(workload.key, None if leaves else _rank_of(workload))


def release_placement(state: State, workload: Workload) -> None:
    """Remove a workload's pods from all nodes."""
    tops = state.forest.topologies
    tops.waiting.pop(workload.key, None)
    if not tops.stale:
        tops.release_workload_pods(workload.key)
        _recount_foreign_pods(state, tops, workload)


def note_waiting(tops: Topologies, workload: Workload) -> None:
    """Note whether a workload with quota waits for nodes."""
    delayed = any(assignment.delayed_topology == "Pending" for assignment in workload.assignment)
    if delayed or workload.failed_nodes:
        tops.waiting[workload.key] = -1
    else:
        tops.waiting.pop(workload.key, None)


def mark_unhealthy_nodes(state: State, workload: Workload) -> None:
    """Mark unhealthy nodes of a workload as changed at its admission: they may have failed before.

    Costs O(nodes of the workload).
    """
    tops = state.forest.topologies
    if tops.stale:
        return  # the next build marks all nodes
    for holding in tops.placed.get(workload.key, ()):
        tree = tops.placers[holding.flavor].tree
        leaf = tree.number.get(holding.values)
        nodes = () if leaf is None else tree.nodes[leaf].values()
        if not nodes or any(node.spec.taints or not node.spec.ready for node in nodes):
            tops.changed[holding.values[-1]] = None


def update_node(state: State, name: str) -> None:
    """Update a node in the topologies; a new node, or one with other labels, requires a rebuild."""
    tops = state.forest.topologies
    if tops.stale:
        return
    defined = state.objects.nodes.get(name)
    if defined is None:
        tops.stale = True
        return
    pods = state.objects.node_pods.get(name)
    tops.set_claims(name, () if pods is None else pods.claimed)
    node = _node_of(state, defined)
    for flavor, placer in tops.placers.items():
        spec = state.objects.flavors[flavor].spec
        labels = node.spec.labels
        belongs = spec.node_labels.items() <= labels.items() and all(
            level in labels for level in placer.tree.levels
        )
        is_known = any(name in nodes for nodes in placer.tree.nodes) if not belongs else False
        if is_known or (belongs and not placer.tree.place_node(node)):
            tops.stale = True
            return
    tops.stamp += 1
    tops.changed[node.spec.labels.get(HOSTNAME, name)] = None


def intended_pods(state: State, intent: Intent) -> tuple[PlacedPods, ...]:
    """Return the pods reserved on nodes for a preemptor that waits."""
    workload = state.workloads.get(intent.workload)
    if workload is None or not any(assignment.topology for assignment in intent.assignment):
        return ()
    return tuple(pods_of(state, workload, intent.assignment))


def pods_of(
    state: State, workload: Workload, assignment: tuple[PodSetAssignment, ...]
) -> Iterator[PlacedPods]:
    """Yield the pods of an assignment, by leaf."""
    podsets = {podset.name: podset for podset in workload.podsets}
    flavors = [topology_flavor_of(state, podset) for podset in assignment]
    other = next((flavor for flavor in flavors if flavor), "")
    for assigned, flavor in zip(assignment, flavors, strict=True):
        podset = podsets.get(assigned.name)
        if assigned.topology is None or podset is None or not (flavor or other):
            continue
        each = pod_requests_of(state, workload, podset)
        for domain in first_pods(
            unpack(assigned.topology), podset.count if workload.elastic else INT32_MAX
        ):
            yield PlacedPods(flavor or other, domain.values, each, domain.count)


def pod_requests_of(state: State, workload: Workload, podset: PodSet) -> dict[str, int]:
    """Return the amounts that one pod uses of a node."""
    namespace = workload.key.partition("/")[0]
    key = namespace, _encode(podset)
    used = state.forest.pod_requests.get(key)
    if used is None:
        used = {**placement_requests(state.objects, namespace, podset), PODS: 1}
        make_room(state, state.forest.pod_requests)
        state.forest.pod_requests[key] = used
    return used


def topology_flavor_of(state: State, assignment: PodSetAssignment) -> str:
    """Return the flavor with a topology that is assigned to a podset; "" if there is none."""
    for resource in sorted(assignment.flavors):
        defined = state.objects.flavors.get(assignment.flavors[resource])
        if defined is not None and defined.spec.topology:
            return defined.name
    return ""


def topology_mismatch(state: State, podset: PodSet, spec: FlavorSpec, *, only: bool) -> str:
    """Return why a podset may not use a flavor because of topologies; "" if it may.

    ``only``: all flavors of its ClusterQueue have a topology: podsets are placed without a request.
    """
    defined = state.objects.topologies.get(spec.topology) if spec.topology else None
    if not requests_topology(podset):
        return (
            "" if only or not spec.topology else "it has a topology, and the podset requests none"
        )
    if defined is None:
        return "no Topology"
    topology_request = podset.topology
    assert topology_request is not None
    named = (
        topology_request.required or topology_request.preferred,
        topology_request.slice_required,
        *(layer.level for layer in topology_request.layers),
    )
    missing = [level for level in named if level and level not in defined.levels]
    return f"its topology has no level {missing[0]}" if missing else ""


def _rebuild(state: State, tops: Topologies) -> None:
    policy = state.policy
    options = Options(
        mixed=gate_enabled(policy, "TASProfileMixed"),
        balanced=gate_enabled(policy, "TASBalancedPlacement"),
        affinity=gate_enabled(policy, "TASRespectNodeAffinityPreferred"),
        elastic=gate_enabled(policy, "ElasticJobsViaWorkloadSlicesWithTAS")
        and gate_enabled(policy, "ElasticJobsViaWorkloadSlices"),
    )
    tops.shared = gate_enabled(policy, "TASHandleOverlappingFlavors")
    nodes = [_node_of(state, node) for node in state.objects.nodes.values()]
    tops.placers, tops.placed, tops.waiting, tops.at_node = {}, {}, {}, {}
    tops.moves, tops.evictable, tops.claims, tops.claimed = Moves(), {}, {}, {}
    for name in sorted(state.objects.flavors):
        spec = state.objects.flavors[name].spec
        defined = state.objects.topologies.get(spec.topology) if spec.topology else None
        if defined is None or not defined.levels:
            continue
        labels = spec.node_labels.items()
        tree = build(defined.levels, (node for node in nodes if labels <= node.spec.labels.items()))
        tops.placers[name] = Placer(tree=tree, options=options)
    tops.stale = False
    tops.stamp += 1
    state.forest.pod_requests.clear()
    for workload in state.workloads.values() if tops.placers else ():
        if workload.phase in HOLDING:
            _charge_pods(state, tops, workload)
    for name, pods in state.objects.node_pods.items():
        if pods.claimed and name in state.objects.nodes:
            update_node(state, name)  # foreign usage depends on the charges above
    tops.changed = dict.fromkeys(tops.at_node)  # a rebuild does not know which nodes changed


def _charge_pods(state: State, tops: Topologies, workload: Workload) -> None:
    holdings = tuple(pods_of(state, workload, workload.assignment))
    tops.charge_workload_pods(
        workload.key, holdings, None if workload.phase == "evicting" else _rank_of(workload)
    )
    note_waiting(tops, workload)


def _recount_foreign_pods(state: State, tops: Topologies, workload: Workload) -> None:
    """Count foreign pods again on nodes whose pods name a workload with a changed placement."""
    names = dict(tops.claimed.get(workload.key, {}))
    if workload.elastic and tops.claimed:  # pods of an elastic job name any of its slices
        namespace = workload.key.partition("/")[0]
        for key, at in tops.claimed.items():
            names |= at if key.partition("/")[0] == namespace else {}
    for name in names:
        update_node(state, name)


def _rank_of(workload: Workload) -> Rank:
    return Rank(workload.cluster_queue, workload.priority)


def _node_of(state: State, defined: NodeDefined) -> Node:
    pods = state.objects.node_pods.get(defined.name)
    usage = {} if pods is None else pods.usage
    if pods is not None and pods.claimed:
        usage = foreign_usage(state, defined.spec, pods)
    return Node(name=defined.name, spec=defined.spec, usage=usage)
