"""Nodes for pods of workloads with quota: once their checks are ready, or in place of failed ones.

These workloads come before a cycle's heads, and keep their flavors. A node fails if it is deleted,
not ready or tainted. One that exists fails for a workload only if none of the workload's pods runs
there: all have ended, or none was bound yet. Whether one runs there is known only once the node's
pods were observed while it was failing.

Source: behaviour.md 9.5, 12.6, 12.7; behaviour-notes.md, suite tas 11, 13, 16.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from tidegate.contracts.decision_kinds.placements import (
    NodeFailed,
    NodeFailure,
    SecondPassFailed,
    TopologyAssigned,
)
from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.admission.admit import start_workload
from tidegate.core.admission.orders import eviction_decisions, failed_start_decisions
from tidegate.core.flavors.choices import Assignment, PodSetChoice
from tidegate.core.flavors.placement import place_podsets, placement_request, with_check_updates
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.queueing.admissibility import admission_blocker
from tidegate.core.queueing.admission_checks import are_checks_ready
from tidegate.core.state.state import State, Workload, decision_fields
from tidegate.core.topology.cluster import topologies, topology_flavor_of
from tidegate.core.topology.fitting.matching import repels
from tidegate.core.topology.fitting.request import Failure
from tidegate.core.topology.fitting.tree import Leaves, Node
from tidegate.core.topology.place import Outcome, Placed, Placer
from tidegate.core.topology.previous import leaves_of, replacement
from tidegate.core.topology.shrunk import requested_pods, shrunk_assignment
from tidegate.core.topology.usage import PlacedPods
from tidegate.model.gates import gate_enabled
from tidegate.model.podset import PodSet, PodSetAssignment, Toleration
from tidegate.model.topology import TopologyAssignment, unpack

NODE_FAILURES = "NodeFailures"
_OWN_POD = "pod"


def second_pass(context: DecideContext) -> None:
    """Place workloads with quota that wait for nodes, if nodes changed since the last attempt.

    The nodes that they had stay in use until the cycle ends.
    """
    state = context.state
    topology_state = topologies(state)
    for key in sorted(topology_state.waiting):
        tried, workload = topology_state.waiting[key], state.workloads.get(key)
        if workload is None or tried == topology_state.stamp:
            continue
        if workload.failed_nodes and workload.phase == "admitted":
            topology_state.waiting[key] = topology_state.stamp
            _replace_failed_node(context, workload)
        elif workload.phase == "reserved" and _is_due(state, workload):
            topology_state.waiting[key] = topology_state.stamp
            _assign_delayed_topology(context, workload)


def _is_due(state: State, workload: Workload) -> bool:
    """Tell whether a reservation may become an admission once its pods have nodes."""
    ready = are_checks_ready(state, workload, workload.cluster_queue, workload.assignment)
    if ready and state.requeue.rechecks:
        return admission_blocker(state, workload) is None
    return ready and state.forest.cluster_queues[workload.cluster_queue].active


def _assign_delayed_topology(context: DecideContext, workload: Workload) -> None:
    """Place a workload whose checks are ready, and start it."""
    state = context.state
    if failed := failed_start_decisions(state, workload):
        context.record_all(failed)
        return
    late = Assignment(
        podsets=[
            PodSetChoice(
                name=own.name,
                count=own.count,
                requests={},
                topology_flavor=topology_flavor_of(state, own) if own.delayed_topology else "",
            )
            for own in workload.assignment
        ]
    )
    failures = place_podsets(state, workload, late)
    if failures:
        _record_failure(context, workload, next(iter(failures.values())))
        return
    assignment = tuple(
        replace(assignment, topology=choice.placed, delayed_topology="Ready")
        if assignment.delayed_topology
        else assignment
        for assignment, choice in zip(workload.assignment, late.podsets, strict=True)
    )
    _record_topology(context, workload, assignment, "")
    start_workload(context, workload)


def _replace_failed_node(context: DecideContext, workload: Workload) -> None:
    """Move the pods of a failed node to other nodes, or evict the workload."""
    state = context.state
    if not gate_enabled(state.policy, "TASFailedNodeReplacement"):
        return
    if len(workload.failed_nodes) > 1:
        _evict_for_nodes(context, workload, "more than one of its nodes failed")
        return
    node = next(iter(workload.failed_nodes))
    assignments = [shrunk_assignment(workload, assignment) for assignment in workload.assignment]
    skips = gate_enabled(state.policy, "SkipReassignmentForPodOwnedWorkloads")
    if workload.job.kind != _OWN_POD or not skips:
        for at, outcome in _replacements(state, workload, assignments, node).items():
            if isinstance(outcome, Failure):
                _record_failure(context, workload, outcome)
                return
            placer = topologies(state).placers[topology_flavor_of(state, assignments[at])]
            assignments[at] = replace(assignments[at], topology=placer.to_assignment(outcome))
    _record_topology(context, workload, tuple(assignments), node)


def _replacements(
    state: State, workload: Workload, assignments: Sequence[PodSetAssignment], node: str
) -> dict[int, Outcome]:
    """Return new nodes for each podset with pods on ``node``, each beside those before it."""
    outcomes, assumed = dict[int, Outcome](), list[tuple[PlacedPods, ...]]()
    tops = topologies(state)
    for at in _placement_order(workload):
        assignment = assignments[at]
        flavor = topology_flavor_of(state, assignment)
        placer = tops.placers.get(flavor)
        no_pods = workload.elastic and not requested_pods(workload, assignment.name)
        if assignment.topology is None or placer is None or no_pods:
            continue
        podset = _podset(workload, assignment)
        ask = placement_request(state, workload, podset, flavor, assignment.count)
        beside = _group_domains(placer, workload, at, outcomes, node)
        outcome = replacement(placer, ask, assignment.topology, node, beside)
        outcomes[at] = outcome
        if isinstance(outcome, Failure):
            break
        assumed.append(_added_pods(assignment.topology, placer, flavor, outcome, ask.each))
        tops.charge(assumed[-1], 1)
    for holdings in assumed:
        tops.charge(holdings, -1)
    return outcomes


def _podset(workload: Workload, assignment: PodSetAssignment) -> PodSet:
    return next(podset for podset in workload.podsets if podset.name == assignment.name)


def _group_key(workload: Workload, at: int) -> str:
    topology = _podset(workload, workload.assignment[at]).topology
    return f"group {topology.group}" if topology and topology.group else f"podset {at}"


def _placement_order(workload: Workload) -> list[int]:
    """Return the podsets' indexes in order, but in each group the larger first: harder to fit."""
    every = range(len(workload.assignment))
    groups = [_group_key(workload, at) for at in every]
    return sorted(every, key=lambda at: (groups.index(groups[at]), -workload.assignment[at].count))


def _group_domains(
    placer: Placer, workload: Workload, at: int, outcomes: dict[int, Outcome], node: str
) -> Leaves:
    """Return the domains of the other podsets of a group, without those on the failed node."""
    leaves: Leaves = []
    for other, assignment in enumerate(workload.assignment):
        if (
            other == at
            or assignment.topology is None
            or _group_key(workload, other) != _group_key(workload, at)
        ):
            continue
        placed = outcomes.get(other)
        if isinstance(placed, Placed):
            leaves += placed.leaves
        else:
            stay = [domain for domain in unpack(assignment.topology) if domain.values[-1] != node]
            leaves += leaves_of(placer.tree, stay) or []
    return leaves


def _added_pods(
    before: TopologyAssignment, placer: Placer, flavor: str, placed: Placed, each: dict[str, int]
) -> tuple[PlacedPods, ...]:
    """Return the pods that a podset adds to nodes; the ones that it had are charged already."""
    had = {domain.values: domain.count for domain in unpack(before)}
    leaf_values = [(placer.tree.shown(leaf), pods) for leaf, pods in placed.leaves]
    return tuple(
        PlacedPods(flavor, values, each, pods - had.get(values, 0))
        for values, pods in leaf_values
        if pods > had.get(values, 0)
    )


def _record_topology(
    context: DecideContext,
    workload: Workload,
    assignment: tuple[PodSetAssignment, ...],
    replaced: str,
) -> None:
    topology_state = topologies(context.state)
    gone = tuple(
        holding
        for holding in topology_state.placed.get(workload.key, ())
        if holding.values[-1] == replaced
    )
    fields = decision_fields(context.state, workload)
    context.record(TopologyAssigned(**fields, assignment=assignment, replaced=replaced))
    context.reserve_pods(gone)


def _record_failure(context: DecideContext, workload: Workload, failure: Failure) -> None:
    """Evict a workload whose failed node has no replacement, or record the failed attempt."""
    state = context.state
    message = f"only {failure.fits} of {failure.of} {failure.unit}s fit"
    if workload.failed_nodes and gate_enabled(state.policy, "TASFailedNodeReplacementFailFast"):
        _evict_for_nodes(context, workload, message)
        return
    context.record(SecondPassFailed(**decision_fields(state, workload), message=message))


def _evict_for_nodes(context: DecideContext, workload: Workload, text: str) -> None:
    nodes = ", ".join(workload.failed_nodes)
    message = f"No other place for the pods of node {nodes}: {text}."
    context.record_all(eviction_decisions(context.state, workload, NODE_FAILURES, message=message))


def record_failed_nodes(state: State) -> Iterator[list[DecisionEvent]]:
    """Yield NodeFailed for each workload whose pods on a changed node need another node."""
    topology_state = topologies(state)
    while topology_state.changed:
        name = min(topology_state.changed)
        for key in sorted(topology_state.at_node.get(name, ())):
            workload = state.workloads[key]
            reason = _failure_reason(state, workload, name)
            if reason is not None and name not in workload.failed_nodes:
                failed = NodeFailed(**decision_fields(state, workload), node=name, reason=reason)
                yield [failed]
        topology_state.changed.pop(name, None)


def _failure_reason(state: State, workload: Workload, name: str) -> NodeFailure | None:
    if workload.phase != "admitted" or not gate_enabled(state.policy, "TASFailedNodeReplacement"):
        return None
    holdings = topologies(state).placed[workload.key]
    on_node = (holding for holding in holdings if holding.values == (name,))
    return next((why for holding in on_node if (why := _failure(state, workload, holding))), None)


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
    if unready and deserted and gate_enabled(state.policy, "TASReplaceNodeOnPodTermination"):
        return "NotReady"
    tainted = deserted and _has_repelling_taint(state, workload, holding.flavor, list(nodes))
    replaces = gate_enabled(state.policy, "TASReplaceNodeOnNodeTaints")
    return "Tainted" if tainted and replaces else None


def _has_no_pod(state: State, node: Node, workload: Workload) -> bool:
    """Tell whether it is known that no pod of a workload runs on a node."""
    node_pods_reported = state.objects.node_pods.get(node.name)
    if node_pods_reported is None or workload.key in node_pods_reported.ended:
        return node_pods_reported is not None
    return node_pods_reported.living is not None and not any(
        _may_belong_to(state, key, workload) for key in node_pods_reported.living
    )


def _may_belong_to(state: State, named: str, workload: Workload) -> bool:
    """Tell whether pods that name a workload may belong to another: any slice of an elastic job."""
    if named == workload.key or not workload.elastic:
        return named == workload.key
    other = state.workloads.get(named)
    return other is None or other.job.uid == workload.job.uid


def _has_repelling_taint(state: State, workload: Workload, flavor: str, nodes: list[Node]) -> bool:
    """Tell whether a taint of a node repels some pods of a workload."""
    defined = state.objects.flavors.get(flavor)
    of_flavor: tuple[Toleration, ...] = () if defined is None else defined.spec.tolerations
    by_podset = [with_check_updates(workload, podset).tolerations for podset in workload.podsets]
    taints = {taint for node in nodes for taint in node.spec.taints}
    return any(repels(taint, (*own, *of_flavor)) for taint in taints for own in by_podset)
