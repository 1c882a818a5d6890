"""Intents: what a preemption freed is reserved for the preemptor, until it starts or cannot.

Source: docs/adr/0005-ending-preemption-circles.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidegate.contracts.decisions import DecisionEvent, PreemptionAbandoned
from tidegate.core.admission.admit import granted, reserve
from tidegate.core.flavors.assignment import Assignment, assign
from tidegate.core.flavors.fitting import NO_CANDIDATES, Oracle
from tidegate.core.flavors.outdated import outdated
from tidegate.core.members.placing import chosen
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.nominate import Nominee
from tidegate.core.nomination.proposals import Proposal
from tidegate.core.queueing.admissibility import barrier
from tidegate.core.quota.tree import add, fits, free, level, remove
from tidegate.core.state.cluster_queues import ClusterQueueState, Tree
from tidegate.core.state.state import Intent, State, Workload
from tidegate.core.topology.cluster import intended
from tidegate.model.ids import FlavorResource


def abandon(state: State) -> Iterator[list[DecisionEvent]]:
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


def ready(context: DecideContext, trees: Iterable[Tree]) -> list[Nominee]:
    """Return the preemptors of these trees for which there is room now, as heads of their queues.

    Each as it would be placed now, or else as it was intended. To be called between ``begin`` and
    ``end`` of a cycle.
    """
    state, nominees = context.state, list[Nominee]()
    tree_ids = {id(tree) for tree in trees} if state.intents else set[int]()
    for intent in state.intents.values():
        workload = state.workloads.get(intent.workload)
        cq = state.forest.cluster_queues.get(intent.cluster_queue)
        if workload is None or cq is None or id(cq.tree) not in tree_ids:
            continue
        nominee = _ready(context, intent, workload, cq)
        if nominee is not None:
            nominees.append(nominee)
    return nominees


def fulfil(context: DecideContext, nominee: Nominee) -> bool:
    """Give a preemptor what was kept for it, if there is still room; tell whether there was."""
    intent, proposal, cq = nominee.intent, nominee.proposal, nominee.cq
    assert intent is not None
    assert proposal is not None
    usage = list(proposal.assignment.usage.items())
    with_own = [(fr, -units) for fr, units in intent.charges]
    context.reserve(cq.tree, cq.node, with_own)
    fitting = fits(cq.node, usage) and context.fits_now(cq, usage)
    if not (fitting and _placed_now(context, intent, nominee.workload, proposal.assignment)):
        context.reserve(cq.tree, cq.node, intent.charges)
        return False
    context.reserve_pods(intended(context.state, intent), -1)
    assignment = granted(proposal.assignment) if proposal.assignment.podsets else intent.assignment
    reserve(context, cq, nominee.workload, assignment, nominee.borrows)
    return True


def _ready(
    context: DecideContext, intent: Intent, workload: Workload, cq: ClusterQueueState
) -> Nominee | None:
    """Return a preemptor with its placement if it fits beside all that is charged now."""
    node = cq.node
    now = _anew(context.state, intent, workload, cq)
    usage = list(now.usage.items())
    remove(node, intent.charges)
    fresh = now.mode == "Fit" and fits(node, usage)
    add(node, intent.charges)
    fresh = fresh and context.fits_now(cq, usage)
    if fresh and _placed_now(context, intent, workload, now):
        assignment, borrows = now, now.borrows
    elif any(assignment.topology is not None for assignment in intent.assignment):
        return None
    elif context.fits_now(cq, intent.charges):
        assignment = Assignment(podsets=[], usage=dict(intent.charges))
        borrows = _level(cq, intent)
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


def _anew(state: State, intent: Intent, workload: Workload, cq: ClusterQueueState) -> Assignment:
    """Return what a preemptor would be given with what is kept for it."""
    own, topologies = intended(state, intent), state.forest.topologies
    remove(cq.node, intent.charges)
    topologies.charge(own, -1)
    assignment = assign(state, workload, oracle=_nobody(cq), cq=cq)
    add(cq.node, intent.charges)
    topologies.charge(own, 1)
    return assignment


def _placed_now(
    context: DecideContext, intent: Intent, workload: Workload, assignment: Assignment
) -> bool:
    """Tell whether its pods find places beside all that is there, and note which."""
    own, topologies = intended(context.state, intent), context.state.forest.topologies
    topologies.charge(own, -1)
    placed = context.place_now(workload, assignment)
    topologies.charge(own, 1)
    return placed


def _nobody(cq: ClusterQueueState) -> Oracle:
    def answer(fr: FlavorResource, units: int) -> tuple[int, int]:
        return NO_CANDIDATES, level(cq.node.cells[fr], units)[0]

    return answer


def _level(cq: ClusterQueueState, intent: Intent) -> int:
    cells = cq.node.cells
    return max((level(cells[fr], units)[0] for fr, units in intent.charges), default=0)


def _abandon_reason(state: State, intent: Intent) -> str:
    """Return why an intent cannot be met any more; "" if it can.

    It could when it was made, and nothing else is admitted that would take its room, so only a
    change of what is defined, or a workload charged above its quota, can be the cause.
    """
    workload = state.workloads.get(intent.workload)
    if workload is None or workload.phase != "pending":
        return "the workload left"
    blocked_by = barrier(state, workload)
    if blocked_by is not None:
        return blocked_by.details
    cq = state.forest.cluster_queues.get(intent.cluster_queue)
    if cq is None or workload.cluster_queue != intent.cluster_queue:
        return "its LocalQueue leads to another ClusterQueue"
    if message := outdated(state, cq, workload, intent.assignment):
        return message
    if workload.body and not chosen(state, workload, intent.assignment):
        return "no cluster has all its flavors"
    if not _fits_in(state, intent, cq):
        return "quota changed"
    return "" if _finds_nodes(state, intent, workload, cq) else "nodes changed"


def _finds_nodes(state: State, intent: Intent, workload: Workload, cq: ClusterQueueState) -> bool:
    """Return whether there will be nodes for a preemptor, once evicted workloads have left.

    Looked at again when a node changed or something has left one, or its tree has changed: quota
    decides which flavor it would get.
    """
    topologies = state.forest.topologies
    now = topologies.stamp, cq.tree.stamp
    if not intended(state, intent) or topologies.upheld.get(intent.workload) == now:
        return True
    view = DecideContext(state=state, decisions_max=0)
    view.begin([cq.tree])
    holds = _anew(state, intent, workload, cq).mode == "Fit"
    view.end()
    if holds:
        topologies.upheld[intent.workload] = now
    return holds


def _fits_in(state: State, intent: Intent, cq: ClusterQueueState) -> bool:
    """Return whether what an intent reserves is within quota, once evicted workloads have left.

    All of a tree's are looked at together, and not again until something changes there.
    """
    tree = cq.tree
    if tree.upheld == tree.stamp:
        return True
    view = DecideContext(state=state, decisions_max=0)
    view.begin([tree])
    cluster_queues = state.forest.cluster_queues
    free_by_workload = {
        other_intent.workload: all(
            free(at.node.cells[fr]) >= 0 for fr, units in other_intent.charges if units > 0
        )
        for other_intent in state.intents.values()
        if (at := cluster_queues.get(other_intent.cluster_queue)) is not None and at.tree is tree
    }
    view.end()
    if all(free_by_workload.values()):
        tree.upheld = tree.stamp
    return free_by_workload[intent.workload]
