"""Places pods of workloads with quota: once their checks are ready, or when a node failed.

These workloads come before a cycle's heads, and keep their flavors.

Source: behaviour.md 9.5, 12.6, 12.7; behaviour-notes.md, suite tas 11, 13, 16.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tidegate.contracts.decision_kinds.placements import SecondPassFailed, TopologyAssigned
from tidegate.core.admission.admit import start
from tidegate.core.admission.orders import evicted
from tidegate.core.flavors.assignment import Assignment, PodSetChoice
from tidegate.core.flavors.placing import request_of, seat
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.queueing.admission_checks import are_ready
from tidegate.core.state.state import State, Workload, about
from tidegate.core.topology.cluster import flavor_of, topologies
from tidegate.core.topology.fitting.request import Failure
from tidegate.core.topology.leaves import Leaves
from tidegate.core.topology.place import Outcome, Placed, Placer
from tidegate.core.topology.previous import leaves_of, replacement
from tidegate.core.topology.shrunk import requested, shrunk
from tidegate.core.topology.usage import PlacedPods
from tidegate.model.gates import gate
from tidegate.model.podset import PodSet, PodSetAssignment
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
        topology_state.waiting[key] = topology_state.stamp
        if workload.failed_nodes and workload.phase == "admitted":
            _replace(context, workload)
        elif workload.phase == "reserved" and _checked(state, workload):
            _place_late(context, workload)


def _checked(state: State, workload: Workload) -> bool:
    return are_ready(state, workload, workload.cluster_queue, workload.assignment)


def _place_late(context: DecideContext, workload: Workload) -> None:
    """Place a workload whose checks are ready, and start it."""
    state = context.state
    late = Assignment(
        podsets=[
            PodSetChoice(
                name=assignment.name,
                count=assignment.count,
                requests={},
                topology_flavor=flavor_of(state, assignment) if assignment.delayed_topology else "",
            )
            for assignment in workload.assignment
        ]
    )
    failures = seat(state, workload, late)
    if failures:
        _fail(context, workload, next(iter(failures.values())))
        return
    assignment = tuple(
        replace(assignment, topology=choice.placed, delayed_topology="Ready")
        if assignment.delayed_topology
        else assignment
        for assignment, choice in zip(workload.assignment, late.podsets, strict=True)
    )
    _assign(context, workload, assignment, "")
    start(context, workload)


def _replace(context: DecideContext, workload: Workload) -> None:
    """Move the pods of a failed node to other nodes, or evict the workload."""
    state = context.state
    if not gate(state.policy, "TASFailedNodeReplacement"):
        return
    if len(workload.failed_nodes) > 1:
        _evict(context, workload, "more than one of its nodes failed")
        return
    node = next(iter(workload.failed_nodes))
    assignments = [shrunk(workload, assignment) for assignment in workload.assignment]
    if not _stays_put(state, workload):
        for at, outcome in _replacements(state, workload, assignments, node).items():
            if isinstance(outcome, Failure):
                _fail(context, workload, outcome)
                return
            placer = topologies(state).placers[flavor_of(state, assignments[at])]
            assignments[at] = replace(assignments[at], topology=placer.recorded(outcome))
    _assign(context, workload, tuple(assignments), node)


def _stays_put(state: State, workload: Workload) -> bool:
    """Tell whether a workload is a single pod, which cannot be placed again."""
    on = gate(state.policy, "SkipReassignmentForPodOwnedWorkloads")
    return on and workload.job.kind == _OWN_POD


def _replacements(
    state: State, workload: Workload, assignments: Sequence[PodSetAssignment], node: str
) -> dict[int, Outcome]:
    """Return new nodes for each podset with pods on ``node``, each beside those before it."""
    outcomes, assumed = dict[int, Outcome](), list[tuple[PlacedPods, ...]]()
    tops = topologies(state)
    for at in _in_groups(workload):
        assignment = assignments[at]
        flavor = flavor_of(state, assignment)
        placer = tops.placers.get(flavor)
        no_pods = workload.elastic and not requested(workload, assignment.name)
        if assignment.topology is None or placer is None or no_pods:
            continue
        ask = request_of(state, workload, _podset(workload, assignment), flavor, assignment.count)
        beside = _beside(placer, workload, at, outcomes, node)
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


def _group(workload: Workload, at: int) -> str:
    topology_request = _podset(workload, workload.assignment[at]).topology
    return (
        f"group {topology_request.group}"
        if topology_request is not None and topology_request.group
        else f"podset {at}"
    )


def _in_groups(workload: Workload) -> list[int]:
    """Return the podsets' indexes in order, but in each group the larger first: harder to fit."""
    every = range(len(workload.assignment))
    groups = [_group(workload, at) for at in every]
    return sorted(every, key=lambda at: (groups.index(groups[at]), -workload.assignment[at].count))


def _beside(
    placer: Placer, workload: Workload, at: int, outcomes: dict[int, Outcome], node: str
) -> Leaves:
    """Return the domains of the other podsets of a group, without those on the failed node."""
    leaves: Leaves = []
    for other, assignment in enumerate(workload.assignment):
        if (
            other == at
            or assignment.topology is None
            or _group(workload, other) != _group(workload, at)
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


def _assign(
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
    context.record(
        TopologyAssigned(**about(context.state, workload), assignment=assignment, replaced=replaced)
    )
    context.reserve_pods(gone)


def _fail(context: DecideContext, workload: Workload, failure: Failure) -> None:
    """Evict a workload whose failed node has no replacement, or record the failed attempt."""
    state = context.state
    message = f"only {failure.fits} of {failure.of} {failure.unit}s fit"
    if workload.failed_nodes and gate(state.policy, "TASFailedNodeReplacementFailFast"):
        _evict(context, workload, message)
        return
    context.record(SecondPassFailed(**about(state, workload), message=message))


def _evict(context: DecideContext, workload: Workload, text: str) -> None:
    nodes = ", ".join(workload.failed_nodes)
    message = f"No other place for the pods of node {nodes}: {text}."
    for decision in evicted(context.state, workload, NODE_FAILURES, message=message):
        context.record(decision)
