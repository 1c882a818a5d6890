"""The rules of a turn in their order, and ``decide``: a new rule is one function and one row.

A rule runs in every pass, or once a deadline is due: see ``tidegate.core.state.deadlines``. The
rules run until none yields a decision. Each decision is folded at once, which ends the
condition that its rule looks for. Then scheduling cycles run, until one changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.accepting.jobs.adoption import has_synced
from tidegate.core.admission.intents import abandon_intents
from tidegate.core.admission.second_pass import record_failed_nodes
from tidegate.core.cycle import cycle
from tidegate.core.cycle.requeue import record_scans
from tidegate.core.folding.strays import stop_strays
from tidegate.core.members.copies import order_copy_removals
from tidegate.core.multikueue.dispatch import dispatch
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.quota.forest import forest
from tidegate.core.reconcile.queues import (
    record_budgets,
    record_readiness,
    release_removed_queues,
    sample_usage,
)
from tidegate.core.reconcile.reconcile_workload import reconcile_workloads
from tidegate.core.reconcile.reissue_orders import (
    evict_recovered,
    reissue_order,
    reissue_reservation,
)
from tidegate.core.reconcile.timeouts import (
    evict_not_ready,
    evict_overdue,
    expire_objects,
    requeue_after_backoff,
)
from tidegate.core.state import deadlines
from tidegate.core.state.state import State, Workload
from tidegate.core.topology.cluster import topologies
from tidegate.errors import UnknownRulesError

Groups: TypeAlias = Iterator[list[DecisionEvent]]
Rule: TypeAlias = Callable[[State], Groups]
"""Yields decisions, group by group; each group is folded before the next is yielded."""

VERSION = 1
"""Raised whenever these rules would decide otherwise on the same facts; see docs/adr/0008.

The scheduler records it with its policy. A release that raises it still takes the decisions of
older versions, chosen by ``state.policy.rules``: of each version in ``KNOWN``.
"""
KNOWN = range(1, VERSION + 1)
"""The versions whose decisions are taken; what differs between two of them is listed here."""
PASSES_MAX = 10_000
"""Passes over the rules at most: one whose decision does not end its condition would never end."""


def _when_due(family: str, rule: Callable[[State, list[str]], Groups]) -> Rule:
    """Return a rule that runs once deadlines of a family are due, with the names in their keys."""
    assert family in deadlines.FAMILIES

    def run(state: State) -> Groups:
        names = deadlines.due(state, family)
        return rule(state, names) if names else iter(())

    return run


def _each_due(family: str, rule: Callable[[State, Workload], list[DecisionEvent]]) -> Rule:
    """Return a rule that runs for each workload of which a deadline of a family is due."""

    def run(state: State, keys: list[str]) -> Groups:
        for key in keys:
            workload = state.workloads.get(key)
            if workload is not None:
                yield rule(state, workload)

    return _when_due(family, run)


RULES: tuple[Rule, ...] = (
    release_removed_queues,  # first: changes the quota that all others see
    _when_due("budget", record_budgets),  # a spent budget makes a ClusterQueue inactive
    record_readiness,  # before workloads wait because of it
    _when_due("usage", sample_usage),  # before cycles order LocalQueues by their usage
    record_failed_nodes,  # pods on failed nodes get others before new workloads are placed
    _each_due("remote", dispatch),  # nominates further worker clusters, or gives clusters up
    _each_due(
        "ready", evict_not_ready
    ),  # these three before the rules below decide more for workloads
    _each_due("execution", evict_overdue),  # that must leave
    _each_due("retention", expire_objects),
    reconcile_workloads,  # evictions, and proven stops: their quota is free from here on
    _each_due(
        "requeue", requeue_after_backoff
    ),  # back-offs that are over compete in this turn's cycles
    _each_due("asked", reissue_reservation),  # whose checks did not appear in the Workload
    abandon_intents,  # an intent that can no longer be met reserves no quota
    _when_due("copy", order_copy_removals),  # of placed jobs, in clusters where they have no quota
    _when_due("stray", stop_strays),  # running objects without a workload
    _when_due("repair", evict_recovered),  # recovered workloads for whose restart there is no quota
    _each_due("repair", reissue_order),  # last: the decisions above give their orders themselves
)


def decide(
    state: State, *, cycles_max: int | None = None, decisions_max: int = 1_000
) -> list[DecisionEvent]:
    """Take every decision that follows from the state, folding each as it is taken.

    Args:
        state: changed in place; afterwards settled, unless a bound was reached.
        cycles_max: at most so many scheduling cycles; 0: the rules alone.
        decisions_max: begin no cycle after so many decisions: the rest follows in a next turn.
            A turn ends only between two cycles, so its end changes no decision.

    Raises:
        UnknownRulesError: the ledger names a version of the rules that this program lacks.
    """
    if not has_synced(state):
        return []
    if state.policy.rules not in KNOWN:
        raise UnknownRulesError(f"rules of a version up to {VERSION}", state.policy.rules)
    forest(state)
    topologies(state)
    context = DecideContext(
        state=state,
        decisions_max=decisions_max,
        cycle=state.cycle,
    )
    run = cycle.run_kueue_cycle if state.requeue.by_event else cycle.run_cycle
    done = 0
    while _run_rules(context) and (cycles_max is None or done < cycles_max) and run(context):
        done += 1
    if context.scanned:
        record_scans(context)
    return context.decisions


def _run_rules(context: DecideContext) -> bool:
    """Run the rules until none yields a decision; tell whether the turn may go on."""
    for _ in range(PASSES_MAX):
        count_before = len(context.decisions)
        for rule in RULES:
            for group in rule(context.state):
                for decision in group:
                    context.record(decision)
        if len(context.decisions) == count_before:
            return not context.is_full
    raise AssertionError(f"the rules do not end; the last decision: {context.decisions[-1]}")
