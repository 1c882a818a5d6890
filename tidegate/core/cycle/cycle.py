"""One scheduling cycle: a head from each ClusterQueue, nominated together, then processed in order.

In the default mode a ClusterQueue's head is its first workload that could start or preempt, in the
cohort tree as it is when the cycle begins. Workloads before it are set aside until that may have
changed. So what a cycle does follows from the state alone, not from how many heads were tried.

Source: behaviour.md 3; conformance/schedule, schedule-fair, entry-ordering.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from tidegate.core.admission.intents import ready_preemptors
from tidegate.core.admission.second_pass import second_pass
from tidegate.core.cycle.process import can_act, process_entry
from tidegate.core.cycle.process_kueue import process_entry as process_kueue
from tidegate.core.cycle.requeue import record_pending_reason, record_scans, requeue_kueue
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.nominate import Entry, Nominee, direct_fit, nominate, resumed_scan
from tidegate.core.nomination.tournament import tournament_order
from tidegate.core.nomination.waking import offer_unproven, wake_queue
from tidegate.core.nomination.watches import offer_again, set_aside_if_unchanged, watch_constraints
from tidegate.core.queueing.heads import head_of, is_behind_preemption, queue_order_time
from tidegate.core.state.cluster_queues import ClusterQueueState, Tree
from tidegate.core.state.scheduling_queue import first_workload, set_aside
from tidegate.core.state.state import State
from tidegate.core.state.workload import Rank, Shape, Watch
from tidegate.model.gates import gate_enabled

E = TypeVar("E", bound=Entry)


class _Look(msgspec.Struct, kw_only=True, eq=False):
    """What one cycle looks at in one tree."""

    tree: Tree
    stamp: int  # the tree's, when the cycle began
    heads: list[Nominee] = []
    local: list[Nominee] = []  # of these, those that borrow nothing from the rest of the tree
    later: list[ClusterQueueState] = []  # looked at only if there is no local head
    news: bool = False  # a head was found, or a decision was taken on the way


def is_settled(state: State) -> bool:
    """Tell whether a cycle would change nothing: no tree has changed, or no queue has a head."""
    if state.requeue.by_event:
        return not any(_has_head(state, tree) for tree in state.forest.trees)
    return not state.forest.dirty


def run_cycle(context: DecideContext) -> bool:
    """Run one cycle over the trees that changed; tell whether it took any decision.

    In each tree local heads go first, alone: those that start or preempt within the quota of the
    root's child that they are below, without borrowing from the rest of the tree. Where there are
    any, the cycle does not even look at ClusterQueues below children whose quota is in use.

    Source: docs/adr/0031.
    """
    state = context.state
    trees = sorted(state.forest.dirty, key=_tree_name)
    context.cycle += 1
    count_before = len(context.decisions)
    second_pass(context)
    context.begin_cycle(trees)
    preemptors = ready_preemptors(context, trees)
    looks = [_look_at(context, tree, preemptors) for tree in trees]
    heads = _process_heads(context, looks)
    hindered = [look for look in looks if look.local and look.tree.stamp == look.stamp]
    for look in hindered:
        look.heads = [head for head in look.heads if head not in heads]
        _look_at_others(context, look)
    heads += _process_heads(context, hindered)
    context.end_cycle()
    for nominee in heads:
        if nominee.outcome == "preempting":
            record_pending_reason(context, nominee)
    decided = len(context.decisions) > count_before
    # A tree may have changed since its heads were nominated: trees can share nodes.
    idle = (look for look in looks if not look.news and look.tree.stamp == look.stamp)
    _mark_clean(context.state, (look.tree for look in idle) if decided else trees)
    return decided


def _look_at(context: DecideContext, tree: Tree, preemptors: list[Nominee]) -> _Look:
    """Nominate the heads of a tree; all of them, unless some are local."""
    tree.owners_served = False
    offer_unproven(tree)
    heads = [head for head in preemptors if head.cq.tree is tree]
    served = {head.cq.name for head in heads}
    look, first = _Look(tree=tree, stamp=tree.stamp, heads=heads), list[ClusterQueueState]()
    for cq in tree.cluster_queues:
        if cq.active and (cq.heap or cq.watchers) and cq.name not in served:
            (first if _has_unused_quota(cq) else look.later).append(cq)
    _nominate(context, look, first)
    if not look.local:
        _look_at_others(context, look)
    return look


def _has_unused_quota(cq: ClusterQueueState) -> bool:
    """Tell whether the root's child that it is below has unused quota of a flavor's resources."""
    for cells in cq.below_root:
        for cell in cells:
            if cell.usage >= cell.subtree_quota:
                break
        else:
            return True
    return False


def _look_at_others(context: DecideContext, look: _Look) -> None:
    later, look.later = look.later, []
    _nominate(context, look, later)


def _nominate(context: DecideContext, look: _Look, queues: list[ClusterQueueState]) -> None:
    before = len(context.decisions)
    for cq in queues:
        wake_queue(context.state, cq)
        if cq.heap or cq.reachable:
            look.heads += filter(None, (_next_nominee(context, cq),))
    look.local = _local_heads(look)
    look.news = look.news or bool(look.heads) or len(context.decisions) > before


def _local_heads(look: _Look) -> list[Nominee]:
    return [head for head in look.heads if head.borrows < look.tree.root.height]


def _process_heads(context: DecideContext, looks: list[_Look]) -> list[Nominee]:
    """Process the local heads of each tree, or all of them if it has none; return these.

    Quota is reserved for those with an intent, so they go in any cycle.
    """
    heads = list[Nominee]()
    for look in looks:
        heads += (head for head in look.heads if head.intent is not None)
        heads += (head for head in look.local or look.heads if head.intent is None)
    for nominee in _ordered_entries(context.state, heads):
        process_entry(context, nominee)
    return heads


def run_kueue_cycle(context: DecideContext) -> bool:
    """Run one cycle over all trees with a head; tell whether another may change anything.

    Scans of flavors may go round for ever while nothing fits. Once all scans are where they were
    after an earlier cycle, the cycles end, and the progress of these scans is not recorded.
    """
    state = context.state
    count_before = len(context.decisions)
    second_pass(context)
    placed = len(context.decisions) > count_before
    trees = [tree for tree in state.forest.trees if _has_head(state, tree)]
    if not trees:
        context.end_cycle()
        return placed
    if _process_kueue_heads(context, trees) or placed:
        if context.scanned:
            record_scans(context)
        context.earlier_scans = []
        return True
    progress = {key: scan for key, (scan, *_) in context.scanned.items()}
    if not progress or progress in context.earlier_scans:
        if context.earlier_scans:
            context.scanned = {}
        return False
    context.earlier_scans.append(progress)
    return True


def _process_kueue_heads(context: DecideContext, trees: list[Tree]) -> bool:
    context.cycle += 1
    heads = list(_nominate_heads(context, trees))
    for nominee in _ordered_entries(context.state, heads):
        process_kueue(context, nominee)
    context.end_cycle()
    acted = [requeue_kueue(context, nominee) for nominee in heads]
    return any(acted)


def _next_nominee(context: DecideContext, cq: ClusterQueueState) -> Nominee | None:
    """Return the first workload of a ClusterQueue that can act; set aside those before it."""
    state, near = context.state, iter(cq.reachable)
    next_near = next(near, None)
    while True:
        workload = head_of(state, cq)
        if next_near is not None and (workload is None or next_near[0] < workload.rank):
            nominee = _direct_nominee(context, cq, *next_near)
            if nominee is not None:
                return nominee
            next_near = next(near, None)
            continue
        if workload is None or is_behind_preemption(state, cq, workload):
            return None
        shape = workload.shape
        if (
            shape is not None
            and shape.explained
            and set_aside_if_unchanged(state, cq, shape, workload)
        ):
            continue
        nominee = nominate(state, cq, workload)
        if can_act(context, nominee):
            return nominee
        news = record_pending_reason(context, nominee)
        set_aside(cq, workload, others=nominee.outcome == "elsewhere")
        watch_constraints(state, nominee)
        if news and nominee.outcome == "gated":
            return None  # its gate may be opened now, before later workloads of the queue


def _direct_nominee(
    context: DecideContext, cq: ClusterQueueState, rank: Rank, shape: Shape, watch: Watch
) -> Nominee | None:
    """Return a shape's first workload if it fits directly; else offer it for full nomination."""
    workload = first_workload(shape)
    if workload is None or workload.rank is not rank or shape.named is not watch:
        return None
    nominee = direct_fit(context, cq, workload)
    if nominee is not None and context.fits_now(cq, nominee.usage.items()):
        return nominee
    waits = (
        nominee is not None
        and workload.pending_status
        and workload.pending_status.reason == "WaitingForQuota"
    )
    if not waits:
        offer_again(cq, shape)
    return None


def _mark_clean(state: State, trees: Iterable[Tree]) -> None:
    """Skip trees without a head in later cycles until they change."""
    for tree in trees:
        tree.dirty = False
    state.forest.dirty = [tree for tree in state.forest.dirty if tree.dirty]


def _tree_name(tree: Tree) -> str:
    # Not by which tree changed first: a rebuilt state does not know that.
    return tree.cluster_queues[0].name


def _has_head(state: State, tree: Tree) -> bool:
    generator = (cq for cq in tree.cluster_queues if cq.active and cq.heap)
    return any(head_of(state, cq) is not None for cq in generator)


def _nominate_heads(context: DecideContext, trees: list[Tree]) -> Iterator[Nominee]:
    state = context.state
    for cq in (cq for tree in trees for cq in tree.cluster_queues if cq.active and cq.heap):
        workload = head_of(state, cq)
        if workload is not None:
            yield nominate(state, cq, workload, resumed_scan(context, cq, workload))


def _ordered_entries(state: State, heads: list[Nominee]) -> Iterator[Nominee]:
    """Yield entries in order, first those with an intent: quota is reserved for them."""
    yield from (head for head in heads if head.intent is not None)
    entries = [head for head in heads if head.intent is None and head.proposal]
    if state.policy.fair_sharing:
        yield from tournament_order(state, entries)
    else:
        yield from classic_order(state, entries)


def classic_order(state: State, entries: Iterable[E]) -> list[E]:
    """Return entries in the order in which a cycle without fair sharing processes them.

    Borrowing comes before priority: entries that borrow less go first.
    """
    policy = state.policy
    preemptors = gate_enabled(policy, "PrioritizePreemptorWorkloads")
    by_priority = gate_enabled(policy, "PrioritySortingWithinCohort")

    def key(entry: E) -> tuple[bool, int, int, int, str, str]:
        workload = entry.workload
        return (
            preemptors and not entry.is_preemptor,
            entry.borrows,
            -workload.priority if by_priority else 0,
            queue_order_time(policy, workload),
            workload.uid,
            workload.key,
        )

    return sorted(entries, key=key)
