"""Victims under fair sharing: from the queue with the greatest share, as long as that is fair.

Source: behaviour.md 6.4; conformance/preemption-fair.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

import msgspec

from tidegate.contracts.decisions import PreemptionReason
from tidegate.core.preemption.candidates import Ranked
from tidegate.core.preemption.fair_candidates import Remaining, fair_candidates
from tidegate.core.preemption.trial import Target, Trial, is_queue_borrowing
from tidegate.core.quota.shares import Share, counted_resources, dominant_share, is_borrowing
from tidegate.core.quota.tree import (
    Node,
    add_usage,
    cell_available,
    node_and_ancestors,
    remove_usage,
)
from tidegate.core.state.cluster_queues import CandidateKey
from tidegate.core.state.state import State, Workload
from tidegate.model.gates import gate_enabled
from tidegate.model.ids import FlavorResource
from tidegate.model.policy import DEFAULT_STRATEGIES


class _Rank(msgspec.Struct, frozen=True, eq=False):
    """A ClusterQueue's order among those of its cohort; the first has the next victim."""

    queue: Node
    share: Share
    first: CandidateKey  # its first candidate's

    def __lt__(self, other: _Rank) -> bool:
        """Order by the greatest share, then by the earlier candidate."""
        if other.share < self.share:
            return True
        return not self.share < other.share and self.first < other.first


class _Search(msgspec.Struct, kw_only=True, eq=False):
    """The state of one fair search; nodes are known by their identity."""

    trial: Trial
    queues: dict[str, Remaining]  # ClusterQueue to its remaining candidates
    path: list[Node]  # the preemptor's ClusterQueue and its ancestors, up to the root
    children: dict[int, list[Node]]  # cohort to its child ClusterQueues that have candidates
    cohorts: set[int]  # by identity: cohorts below which candidates may remain
    heaps: dict[int, list[_Rank]] = {}  # by cohort; see ``_greatest_queue``
    outdated_queues: set[int] = set()  # queues whose heap entries are outdated
    shares: dict[int, Share] = {}  # shares of cohorts; dropped when a victim below is taken
    targets: list[Target] = []
    retry: list[Ranked] = []


def fair_victims(trial: Trial) -> list[Target]:
    """Return a minimal set of victims in the order of the search; empty: none suffices."""
    cq, policy = trial.cq, trial.state.policy
    amounts = trial.amounts.items()
    within = gate_enabled(policy, "FairSharingPreemptWithinNominal") and trial.is_within_own_quota
    queues = fair_candidates(trial, within=within)
    if not queues:
        return []
    path, (children, cohorts) = node_and_ancestors(cq.node), _cohorts(trial, queues)
    state = _Search(trial=trial, queues=queues, path=path, children=children, cohorts=cohorts)
    add_usage(cq.node, amounts)
    is_found = _first_pass(state, within=within)
    again = len(trial.state.policy.fair_sharing) > 1 and not _moves_for_good(trial.state)
    if not is_found and again:
        is_found = _second_pass(state)
    remove_usage(cq.node, amounts)
    if not is_found:
        trial.restore_targets(state.targets)
        return []
    return trial.fill_back(state.targets, borrowing=True)


def _moves_for_good(state: State) -> bool:
    """Tell whether a victim for shares must not come back at once: docs/adr/0013."""
    return state.scan.forbids_moving_back


def _cohorts(trial: Trial, queues: Iterable[str]) -> tuple[dict[int, list[Node]], set[int]]:
    """Return ClusterQueues by their cohorts, and all cohorts above them, by identity."""
    children, cohorts = dict[int, list[Node]](), set[int]()
    for name in queues:
        queue, *above = node_and_ancestors(trial.state.forest.cluster_queues[name].node)
        if above:
            children.setdefault(id(above[0]), []).append(queue)
        cohorts.update(map(id, above))
    return children, cohorts


def _next_queue(state: _Search) -> Node | None:
    """Return the ClusterQueue from which the next victim comes, or None."""
    root = state.path[-1]
    if not root.is_cohort:
        return root if _first(state, root) else None
    while id(root) in state.cohorts:
        if (node := _descend_by_share(state, root)) is not None:
            return node
    return None


def _descend_by_share(state: _Search, cohort: Node) -> Node | None:
    """Descend by the greatest share; drop a cohort without candidates and return None."""
    queue, queue_share = _greatest_queue(state, cohort)
    child, child_share = _greatest_cohort(state, cohort)
    if queue is None and child is None:
        state.cohorts.discard(id(cohort))
        return None
    if child is not None and (queue is None or child_share >= queue_share):
        return _descend_by_share(state, child)
    return queue


def _greatest_queue(state: _Search, cohort: Node) -> tuple[Node | None, Share]:
    """Return the child ClusterQueue with the greatest share that has candidates, or None.

    A queue's share changes only when one of its workloads is taken, and a queue without candidates
    never gets new ones. So the children are in a heap, and only changed ones are ranked again.
    """
    heap = state.heaps.get(id(cohort))
    if heap is None:
        ranks = (_rank_of(state, queue) for queue in state.children.get(id(cohort), ()))
        heap = state.heaps[id(cohort)] = [rank for rank in ranks if rank is not None]
        heapify(heap)
    while heap:
        top = heap[0]
        if id(top.queue) not in state.outdated_queues:
            return top.queue, top.share
        heappop(heap)
        state.outdated_queues.discard(id(top.queue))
        if (now := _rank_of(state, top.queue)) is not None:
            heappush(heap, now)
    return None, Share()


def _share(state: _Search, node: Node) -> Share:
    return dominant_share(node, as_double=not state.trial.state.scan.exact_shares)


def _rank_of(state: _Search, queue: Node) -> _Rank | None:
    """Return a queue's rank among its siblings; None: it has no candidates."""
    first = _first(state, queue)
    if first is None or not _may_have_victims(state, queue):
        return None
    return _Rank(queue=queue, share=_share(state, queue), first=first[0])


def _first(state: _Search, queue: Node) -> Ranked | None:
    remaining = state.queues.get(queue.name)
    return None if remaining is None else remaining.first


def _may_have_victims(state: _Search, queue: Node) -> bool:
    """Tell whether a queue is the preemptor's own, or borrows one of the needed flavor-resources.

    In kueue mode it may borrow any flavor-resource, so that it may reclaim at once what it gave.
    """
    if queue is state.path[0]:
        return True
    trial = state.trial
    needs: Iterable[FlavorResource] = (
        trial.needs if _moves_for_good(trial.state) else counted_resources(queue)
    )
    return is_queue_borrowing(trial.state.forest.cluster_queues[queue.name], needs)


def _greatest_cohort(state: _Search, cohort: Node) -> tuple[Node | None, Share]:
    best, best_share = None, Share()
    for child in cohort.children:
        if id(child) not in state.cohorts:
            continue
        fair_share = state.shares.get(id(child))
        if fair_share is None:
            if not is_borrowing(child) and child not in state.path:
                state.cohorts.discard(id(child))
                continue
            fair_share = state.shares[id(child)] = _share(state, child)
        if best is None or not fair_share < best_share:
            best, best_share = child, fair_share
    return best, best_share


def _first_pass(state: _Search, *, within: bool) -> bool:
    trial = state.trial
    for_good = _moves_for_good(trial.state)
    final = trial.state.policy.fair_sharing[0] == DEFAULT_STRATEGIES[0]
    while (queue := _next_queue(state)) is not None:
        state.outdated_queues.add(id(queue))
        if queue is state.path[0]:
            is_taken = _take(state, state.queues[queue.name].pop()[1], "InClusterQueue")
        elif within:
            is_taken = _take(state, state.queues[queue.name].pop()[1], "InCohortReclamation")
        elif for_good:
            is_taken = _take_borrowed(state, queue)
        else:
            is_taken = _take_by_first_strategy(state, queue, final=final)
        if is_taken and _preemptor_fits(state):
            return True
    return False


def _take_by_first_strategy(state: _Search, queue: Node, *, final: bool) -> bool:
    """Take a queue's first candidate that the first strategy allows; keep others for the second."""
    own, other = _almost_lcas(state, queue)
    preemptor, before = _share(state, own), _share(state, other)
    remaining = state.queues[queue.name]
    hopeless = preemptor.boundless and not before.boundless
    while remaining.first is not None:
        candidate = remaining.pop()
        if not hopeless:
            state.trial.remove_candidate(candidate[1])
            if preemptor <= _share(state, other) if final else preemptor < before:
                return _add_target(state, candidate[1], "InCohortFairSharing")
            state.trial.restore_candidate(candidate[1])
        state.retry.append(candidate)
    return False


def _take_borrowed(state: _Search, queue: Node) -> bool:
    """Take a queue's first candidate without which its share stays the larger, and its quota used.

    After a skipped candidate, none of a higher priority is taken.
    """
    own, other = _almost_lcas(state, queue)
    preemptor, remaining, spared = dominant_share(own), state.queues[queue.name], None
    while (first := remaining.first) and (spared is None or first[1].priority <= spared):
        workload = remaining.pop()[1]
        state.trial.remove_candidate(workload)
        if preemptor <= dominant_share(other) and _keeps_quota(queue, workload, state.trial.needs):
            return _add_target(state, workload, "InCohortFairSharing")
        state.trial.restore_candidate(workload)
        spared = workload.priority
    del state.queues[queue.name]
    return False


def _keeps_quota(queue: Node, gone: Workload, needs: tuple[FlavorResource, ...]) -> bool:
    """Tell whether a queue still uses its quota of all needed flavor-resources of ``gone``."""
    generator = (queue.cells[fr] for fr, units in gone.charges if units and fr in needs)
    return all(cell.usage >= cell.subtree_quota for cell in generator)


def _second_pass(state: _Search) -> bool:
    """Try remaining candidates, the first of each queue, by the second strategy."""
    by_queue: dict[str, list[Ranked]] = {}
    for candidate in state.retry:
        by_queue.setdefault(candidate[1].cluster_queue, []).append(candidate)
    state.queues = {queue: Remaining(each) for queue, each in by_queue.items()}
    state.children, state.cohorts = _cohorts(state.trial, state.queues)
    state.heaps, state.outdated_queues, state.shares = {}, set(), {}
    while (queue := _next_queue(state)) is not None:
        state.outdated_queues.add(id(queue))
        own, other = _almost_lcas(state, queue)
        workload = state.queues.pop(queue.name).pop()[1]
        if _share(state, own) < _share(state, other):
            _take(state, workload, "InCohortFairSharing")
            if _preemptor_fits(state):
                return True
    return False


def _almost_lcas(state: _Search, queue: Node) -> tuple[Node, Node]:
    """Return the lowest common cohort's children: on the preemptor's and on the queue's side."""
    other = queue
    while other.parent is not None:
        for own in state.path:
            if own.parent is other.parent:
                return own, other
        other = other.parent
    raise AssertionError("no common cohort")


def _take(state: _Search, workload: Workload, reason: PreemptionReason) -> bool:
    state.trial.remove_candidate(workload)
    return _add_target(state, workload, reason)


def _add_target(state: _Search, workload: Workload, reason: PreemptionReason) -> bool:
    """Add a workload that was taken out to the targets; drop shares that it changed."""
    queue = workload.cluster_queue
    state.targets.append(Target(workload=workload, cluster_queue=queue, reason=reason))
    for node in node_and_ancestors(state.trial.node(workload)):
        state.shares.pop(id(node), None)
    return True


def _preemptor_fits(state: _Search) -> bool:
    """Tell whether the preemptor, whose usage is in the tree already, fits."""
    trial = state.trial
    cells = trial.cq.node.cells
    fits = all(cell_available(cells[fr]) >= 0 for fr in trial.amounts)
    return fits and (trial.placeable is None or trial.placeable())
