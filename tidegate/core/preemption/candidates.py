"""Preemption candidates and their order.

A ClusterQueue's annotation ``tidegate.dev/min-runtime`` says how long its workloads run before they
may be preempted; it does not prevent evictions for other reasons. Whether such a guarantee holds is
folded, as a deadline that has not passed, so that it ends at an event and not in between.

Source: behaviour.md 6.1, 6.2; conformance/candidates-ordering.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TypeAlias, TypeVar

from tidegate.core.members.cluster_status import is_cluster_silent
from tidegate.core.preemption.sums import node_sums
from tidegate.core.preemption.trial import Trial
from tidegate.core.queueing.admission_fair_sharing import orders_by_usage, usage_by_local_queue
from tidegate.core.queueing.heads import queue_order_time
from tidegate.core.state.cluster_queues import CandidateKey, ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource
from tidegate.model.policy import Policy

C = TypeVar("C")
Ranked: TypeAlias = tuple[CandidateKey, Workload]
"""A candidate and its place in the order."""
ANY_PRIORITY = 1 << 40
"""Above every priority."""
GUARANTEE = "guarantee"
"""Family of the deadlines until which workloads may not be preempted."""
_LATEST = 1 << 62
"""Later than any time: for a workload that has not started, or lacks a time of reservation."""


def order_by_usage(state: State, ordered: list[C], workload_of: Callable[[C], Workload]) -> list[C]:
    """Return candidates, those of LocalQueues with more usage first, under admission fair sharing.

    Applies to each ClusterQueue with admission fair sharing, whatever the priorities: its
    candidates are reordered among the places that they have in the list. Kueue compares usage only
    within a ClusterQueue, so its order may be cyclic where candidates of others are in between.

    Source: behaviour.md 6.2 rule 2; conformance/candidates-ordering.

    Args:
        state: has the usage of LocalQueues.
        ordered: candidates of any ClusterQueues, sorted by ``order_key``.
        workload_of: returns the workload of a candidate.
    """
    if state.policy.admission_fair_sharing is None:
        return ordered
    places: dict[tuple[str, bool], list[int]] = {}
    for at, candidate in enumerate(ordered):
        workload = workload_of(candidate)
        if orders_by_usage(state, state.forest.cluster_queues[workload.cluster_queue].spec):
            group = workload.cluster_queue, workload.phase == "evicting"
            places.setdefault(group, []).append(at)
    compared = (workload_of(ordered[at]) for each in places.values() for at in each)
    by_queue = usage_by_local_queue(state, compared)
    result = list(ordered)
    for each in places.values():
        candidates = [ordered[at] for at in each]
        candidates.sort(key=lambda one: by_queue[workload_of(one).local_queue], reverse=True)
        for at, candidate in zip(each, candidates, strict=True):
            result[at] = candidate
    return result


def candidate_key(
    state: State,
    workload: Workload,
    *,
    elsewhere: bool,
    needs: Collection[FlavorResource] = (),
) -> CandidateKey:
    """Return the sort key of a candidate.

    Args:
        state: of the candidate.
        workload: the candidate.
        elsewhere: the preemptor is in another ClusterQueue.
        needs: the flavor-resources to be freed.
    """
    by_loss = state.scan.least_loss_first
    return (
        workload.phase != "evicting",
        not elsewhere,
        workload.priority,
        by_loss and elsewhere and leaves_quota_unused(state, workload, needs),
        -(_unsaved_since_us(state, workload) or _LATEST) if by_loss else 0,
        -(workload.reserved_us or _LATEST),
        workload.uid,
        workload.key,
    )


def leaves_quota_unused(
    state: State, workload: Workload, needs: Collection[FlavorResource]
) -> bool:
    """Tell whether a ClusterQueue would use less than its own quota without a workload.

    Its other workloads would reclaim that quota at once, with new victims: docs/adr/0021.
    """
    for fr, units in workload.charges:
        if units and fr in needs:
            cell = state.forest.cluster_queues[workload.cluster_queue].node.cells[fr]
            if cell.usage - units < cell.subtree_quota:
                return True
    return False


def lost_run_time_us(state: State, workload: Workload) -> int:
    """Return how much run time a workload loses if it is preempted now, in microseconds.

    Counts from its admission or from its newest checkpoint, whichever is later.
    """
    since_us = _unsaved_since_us(state, workload)
    return max(0, state.now_us - since_us) if since_us else 0


def _unsaved_since_us(state: State, workload: Workload) -> int:
    """Return the time since which a workload's run is not saved; 0: it has not started."""
    if workload.phase != "admitted":
        return 0
    parent = state.workloads.get(workload.parent, workload) if workload.parent else workload
    return max(workload.admitted_us, workload.checkpoint_us, parent.checkpoint_us)


def _satisfies_policy(policy: Policy, preemptor: Workload, candidate: Workload, rule: str) -> bool:
    """Tell whether a preemption policy allows ``preemptor`` to preempt ``candidate``."""
    match rule:
        case "Any":
            return True
        case "LowerPriority":
            return preemptor.priority > candidate.priority
        case "LowerOrNewerEqualPriority":
            if preemptor.priority != candidate.priority:
                return preemptor.priority > candidate.priority
            return queue_order_time(policy, preemptor) < queue_order_time(policy, candidate)
        case _:
            return False


def priority_limit(priority: int, rule: str) -> int:
    """Return the priority below which a policy allows victims of a preemptor of ``priority``.

    An upper bound: with LowerOrNewerEqualPriority only newer workloads of equal priority qualify.
    """
    match rule:
        case "Any":
            return ANY_PRIORITY
        case "LowerPriority":
            return priority
        case "LowerOrNewerEqualPriority":
            return priority + 1
        case _:
            return -ANY_PRIORITY


def uses_flavor_resources(workload: Workload, needs: Collection[FlavorResource]) -> bool:
    """Tell whether a workload is charged one of these flavor-resources, even an amount of 0."""
    for fr, _ in workload.charges:  # noqa: SIM110 - hot
        if fr in needs:
            return True
    return False


def candidates_of_queue(trial: Trial, cq: ClusterQueueState) -> Iterator[Ranked]:
    """Yield a ClusterQueue's workloads that a search may preempt, in order.

    Begin while none of them is taken out of the tree. Whether one may be preempted is tested when
    it is reached.
    """
    state, preemptor, elsewhere = trial.state, trial.workload, cq is not trial.cq
    rules = trial.cq.spec.preemption
    rule = rules.reclaim_within_cohort if elsewhere else rules.within_cluster_queue
    if rule == "Never" or not cq.active:
        return
    limit = priority_limit(preemptor.priority, rule)
    for ranked in _in_order(state, cq, trial.needs, elsewhere=elsewhere):
        candidate = ranked[1]
        if candidate.priority >= limit and candidate.phase != "evicting":
            return  # nor may any after it
        if _may_preempt(state, cq, preemptor, candidate, rule):
            yield ranked


def _in_order(
    state: State, cq: ClusterQueueState, needs: tuple[FlavorResource, ...], *, elsewhere: bool
) -> list[Ranked]:
    """Return a ClusterQueue's workloads that use one of ``needs``, in the order of candidates.

    In a cycle it is kept until the queue's usage, or what the order depends on, changes.
    """
    cached = node_sums(cq.tree, cq.node).in_order if cq.tree.in_cycle else {}
    in_order = cached.get((needs, elsewhere))
    if in_order is None:
        leaving = state.scan.includes_evicting
        in_order = cached[needs, elsewhere] = sorted(
            (candidate_key(state, workload, elsewhere=elsewhere, needs=needs), workload)
            for workload in cq.holding.values()
            if (leaving or workload.phase != "evicting") and uses_flavor_resources(workload, needs)
        )
    return in_order


def _may_preempt(
    state: State, cq: ClusterQueueState, preemptor: Workload, candidate: Workload, rule: str
) -> bool:
    """Tell whether a rule, minimum run time and the cluster of a candidate allow to preempt it."""
    return (
        not (cq.spec.min_runtime_us and f"{GUARANTEE}/{candidate.key}" in state.deadlines.at)
        and _satisfies_policy(state.policy, preemptor, candidate, rule)
        and not is_cluster_silent(state, candidate)
    )


def preemptable_usage(
    state: State, cq: ClusterQueueState, preemptor: Workload, fr: FlavorResource
) -> int:
    """Return all candidates' usage of a flavor-resource, of other queues only if these borrow."""
    rules = cq.spec.preemption
    total = _candidate_usage(state, cq, preemptor, fr, rules.within_cluster_queue)
    if cq.node.parent is not None and rules.reclaim_within_cohort != "Never":
        for other in cq.tree.cluster_queues:
            cell = other.node.cells.get(fr)
            if cell is not None and cell.usage > cell.subtree_quota and other is not cq:
                total += _candidate_usage(state, other, preemptor, fr, rules.reclaim_within_cohort)
    return total


def _candidate_usage(
    state: State, cq: ClusterQueueState, preemptor: Workload, fr: FlavorResource, rule: str
) -> int:
    """Return the usage of ``of_cluster_queue``'s workloads, from the queue's sums if possible."""
    if rule == "Never" or not cq.active:
        return 0
    sums, priority = cq.usage_by_priority.get(fr) or {}, preemptor.priority
    summed = not cq.spec.min_runtime_us and not state.policy.member_clusters
    if not state.scan.includes_evicting and summed:
        if rule == "Any":
            return sum(sums.values())
        if rule == "LowerPriority" or priority not in sums:
            return sum(units for at, units in sums.items() if at < priority)
    leaving = state.scan.includes_evicting
    return sum(
        units
        for workload in cq.holding.values()
        for charged_fr, units in workload.charges
        if charged_fr == fr
        and (leaving or workload.phase != "evicting")
        and _may_preempt(state, cq, preemptor, workload, rule)
    )
