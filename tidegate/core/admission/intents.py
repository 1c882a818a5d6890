"""Intents: quota that a preemption frees is reserved for the preemptor until it starts or cannot.

Source: docs/adr/0005-ending-preemption-circles.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidegate.contracts.decisions import DecisionEvent, PreemptionAbandoned
from tidegate.core.admission.admit import podset_assignments, reserve_quota
from tidegate.core.flavors.assignment import assign_flavors
from tidegate.core.flavors.choices import Assignment
from tidegate.core.flavors.eligibility import flavor_mismatch
from tidegate.core.flavors.fitting import NO_CANDIDATES, Oracle
from tidegate.core.members.cluster_status import flavor_refusal
from tidegate.core.members.placement import cluster_for_assignment, placement_refusal
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.nominate import Nominee, Proposal
from tidegate.core.queueing.admissibility import admission_blocker
from tidegate.core.quota.charging import PODS, pod_count, requests_per_pod, total_requests
from tidegate.core.quota.tree import (
    add_usage,
    cell_available,
    fits,
    lowest_fitting_height,
    remove_usage,
)
from tidegate.core.state.cluster_queues import ClusterQueueState, Tree
from tidegate.core.state.state import Intent, State, Workload
from tidegate.core.topology.cluster import intended_pods, topology_mismatch
from tidegate.model.gates import gate_enabled
from tidegate.model.ids import FlavorResource
from tidegate.model.podset import PodSet, PodSetAssignment


def abandon_intents(state: State) -> Iterator[list[DecisionEvent]]:
    """End intents that can no longer be met: the preemptor left or changed, or quota did."""
    for intent in reversed(list(state.intents.values())):
        if reason := intent.void or _abandon_reason(state, intent):
            ended = PreemptionAbandoned(
                at_us=state.now_us,
                workload=intent.workload,
                cluster_queue=intent.cluster_queue,
                reason=reason,
            )
            yield [ended]


def ready_preemptors(context: DecideContext, trees: Iterable[Tree]) -> list[Nominee]:
    """Return the preemptors of these trees that fit now, as heads of their queues.

    Each has a new assignment if one fits, else the intent's. Call it between ``begin`` and ``end``
    of a cycle.
    """
    state, nominees = context.state, list[Nominee]()
    tree_ids = {id(tree) for tree in trees} if state.intents else set[int]()
    for intent in state.intents.values():
        workload = state.workloads.get(intent.workload)
        cq = state.forest.cluster_queues.get(intent.cluster_queue)
        if workload is None or cq is None or id(cq.tree) not in tree_ids:
            continue
        nominee = _ready_preemptor(context, intent, workload, cq)
        if nominee is not None:
            nominees.append(nominee)
    return nominees


def fulfil_intent(context: DecideContext, nominee: Nominee) -> bool:
    """Reserve quota for a preemptor in place of its intent; return False if it does not fit."""
    intent, proposal, cq = nominee.intent, nominee.proposal, nominee.cq
    assert intent is not None
    assert proposal is not None
    usage = list(proposal.assignment.usage.items())
    with_own = [(fr, -units) for fr, units in intent.charges]
    context.reserve(cq.tree, cq.node, with_own)
    fitting = fits(cq.node, usage) and context.fits_now(cq, usage)
    if not (fitting and _finds_nodes_now(context, intent, nominee.workload, proposal.assignment)):
        context.reserve(cq.tree, cq.node, intent.charges)
        return False
    context.reserve_pods(intended_pods(context.state, intent), -1)
    assignment = (
        podset_assignments(proposal.assignment)
        if proposal.assignment.podsets
        else intent.assignment
    )
    reserve_quota(context, cq, nominee.workload, assignment, nominee.borrows)
    return True


def _ready_preemptor(
    context: DecideContext, intent: Intent, workload: Workload, cq: ClusterQueueState
) -> Nominee | None:
    """Return a preemptor with its assignment if it fits beside all current charges, or None."""
    node = cq.node
    now = _assign_again(context.state, intent, workload, cq)
    usage = list(now.usage.items())
    remove_usage(node, intent.charges)
    fresh = now.mode == "Fit" and fits(node, usage)
    add_usage(node, intent.charges)
    fresh = fresh and context.fits_now(cq, usage)
    if fresh and _finds_nodes_now(context, intent, workload, now):
        assignment, borrows = now, now.borrows
    elif any(assignment.topology is not None for assignment in intent.assignment):
        return None
    elif context.fits_now(cq, intent.charges):
        assignment = Assignment(podsets=[], usage=dict(intent.charges))
        borrows = _borrow_level(cq, intent)
    else:
        return None
    return Nominee(
        workload=workload,
        cq=cq,
        borrows=borrows,
        is_preemptor=True,
        intent=intent,
        proposal=Proposal(assignment=assignment),
    )


def _assign_again(
    state: State, intent: Intent, workload: Workload, cq: ClusterQueueState
) -> Assignment:
    """Return a new assignment for a preemptor, its own intent not counted as usage."""
    own, topologies = intended_pods(state, intent), state.forest.topologies
    remove_usage(cq.node, intent.charges)
    topologies.charge(own, -1)
    assignment = assign_flavors(state, workload, oracle=_no_candidates_oracle(cq), cq=cq)
    add_usage(cq.node, intent.charges)
    topologies.charge(own, 1)
    return assignment


def _finds_nodes_now(
    context: DecideContext, intent: Intent, workload: Workload, assignment: Assignment
) -> bool:
    """Tell whether a preemptor's pods find nodes beside all pods; note these nodes."""
    own, topologies = intended_pods(context.state, intent), context.state.forest.topologies
    topologies.charge(own, -1)
    placed = context.finds_nodes_now(workload, assignment)
    topologies.charge(own, 1)
    return placed


def _no_candidates_oracle(cq: ClusterQueueState) -> Oracle:
    def answer(fr: FlavorResource, units: int) -> tuple[int, int]:
        return NO_CANDIDATES, lowest_fitting_height(cq.node.cells[fr], units)[0]

    return answer


def _borrow_level(cq: ClusterQueueState, intent: Intent) -> int:
    cells = cq.node.cells
    return max(
        (lowest_fitting_height(cells[fr], units)[0] for fr, units in intent.charges), default=0
    )


def _abandon_reason(state: State, intent: Intent) -> str:
    """Return why an intent cannot be met any more; "" if it can.

    It could be met at first, and no workload is admitted to its quota, so the cause can only be a
    changed definition, or a workload that is charged above its quota.
    """
    workload = state.workloads.get(intent.workload)
    if workload is None or workload.phase != "pending":
        return "the workload left"
    blocked_by = admission_blocker(state, workload)
    if blocked_by is not None:
        return blocked_by.details
    cq = state.forest.cluster_queues.get(intent.cluster_queue)
    if cq is None or workload.cluster_queue != intent.cluster_queue:
        return "its LocalQueue leads to another ClusterQueue"
    if message := _outdated_reason(state, cq, workload, intent.assignment):
        return message
    if workload.body and not cluster_for_assignment(state, workload, intent.assignment):
        return "no cluster has all its flavors"
    if not _fits_quota(state, intent, cq):
        return "quota changed"
    return "" if _finds_nodes(state, intent, workload, cq) else "nodes changed"


def _finds_nodes(state: State, intent: Intent, workload: Workload, cq: ClusterQueueState) -> bool:
    """Return whether a preemptor will find nodes once evicted workloads have left.

    Computed again when nodes or their pods have changed, or the preemptor's tree has: quota decides
    which flavor it would get.
    """
    topologies = state.forest.topologies
    now = topologies.stamp, cq.tree.stamp
    if not intended_pods(state, intent) or topologies.placeable_at.get(intent.workload) == now:
        return True
    view = DecideContext(state=state, decisions_max=0)
    view.begin_cycle([cq.tree])
    holds = _assign_again(state, intent, workload, cq).mode == "Fit"
    view.end_cycle()
    if holds:
        topologies.placeable_at[intent.workload] = now
    return holds


def _fits_quota(state: State, intent: Intent, cq: ClusterQueueState) -> bool:
    """Return whether an intent's charges are within quota once evicted workloads have left.

    All intents of a tree are checked together, and again only when the tree changes.
    """
    tree = cq.tree
    if tree.intents_checked_at == tree.stamp:
        return True
    view = DecideContext(state=state, decisions_max=0)
    view.begin_cycle([tree])
    cluster_queues = state.forest.cluster_queues
    free_by_workload = {
        other_intent.workload: all(
            cell_available(at.node.cells[fr]) >= 0
            for fr, units in other_intent.charges
            if units > 0
        )
        for other_intent in state.intents.values()
        if (at := cluster_queues.get(other_intent.cluster_queue)) is not None and at.tree is tree
    }
    view.end_cycle()
    if all(free_by_workload.values()):
        tree.intents_checked_at = tree.stamp
    return free_by_workload[intent.workload]


def _outdated_reason(
    state: State,
    cq: ClusterQueueState,
    workload: Workload,
    assignment: tuple[PodSetAssignment, ...],
) -> str:
    """Return why an assignment is not valid for a workload any more; "" if it may be.

    The ClusterQueue may have lost flavors, flavors may repel its pods by now, and LimitRanges,
    RuntimeClasses or the policy may have changed the charge of its pods.
    """
    if [podset.name for podset in assignment] != [podset.name for podset in workload.podsets]:
        return "its podsets are others"
    each = requests_per_pod(state, workload)
    for podset, pod, assigned in zip(workload.podsets, each, assignment, strict=True):
        if not _is_allowed_pod_count(state, workload, podset, assigned.count):
            return f"podset {podset.name} requests another number of pods"
        requests = total_requests(pod, assigned.count)
        if PODS in cq.group_of:
            requests[PODS] = assigned.count
        counted = {name: units for name, units in requests.items() if name in assigned.flavors}
        if counted != assigned.usage or _requests_uncovered(state, cq, requests, assigned):
            return f"podset {podset.name} is charged otherwise"
        for resource, flavor in assigned.flavors.items():
            if message := _flavor_conflict(state, cq, workload, podset, resource, flavor):
                return message
    return ""


def _is_allowed_pod_count(state: State, workload: Workload, podset: PodSet, pods: int) -> bool:
    full = pod_count(workload, podset)
    if pods == full:
        return True
    least = podset.min_count if gate_enabled(state.policy, "PartialAdmission") else None
    return least is not None and least <= pods < full


def _requests_uncovered(
    state: State, cq: ClusterQueueState, requests: dict[str, int], assignment: PodSetAssignment
) -> bool:
    """Tell whether a podset now requests a resource for which the assignment has no flavor."""
    ignores = state.policy.ignore_undeclared
    more = (name for name, units in requests.items() if units and name not in assignment.flavors)
    return any(name in cq.group_of or not ignores for name in more)


def _flavor_conflict(  # noqa: PLR0913, PLR0917 - one podset's one flavor in its queue
    state: State,
    cq: ClusterQueueState,
    workload: Workload,
    podset: PodSet,
    resource: str,
    flavor: str,
) -> str:
    group = cq.group_of.get(resource)
    slots = () if group is None else group.slots
    slot = next((slot for slot in slots if slot.flavor == flavor), None)
    if slot is None or slot.spec is None:
        return f"flavor {flavor} is no more"
    allowed = workload.allowed_flavors
    variants = gate_enabled(state.policy, "ConcurrentAdmission")
    if variants and allowed is not None and flavor not in allowed:
        return f"flavor {flavor} is not among its allowed flavors"
    refusal = placement_refusal if workload.body else flavor_refusal
    message = refusal(state, workload, slot.spec) or flavor_mismatch(podset, slot.spec)
    message = message or topology_mismatch(state, podset, slot.spec, only=cq.only_topologies)
    return f"flavor {flavor}: {message}" if message else ""
