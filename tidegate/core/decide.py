"""The rules of a turn in their order, and ``decide``: a new rule is one function and one row.

Each rule is asked until it has nothing to say; whatever it decides is folded at once and makes a
thing true that silences it. After the rules come scheduling cycles, until one changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.accepting.jobs.adoption import is_complete
from tidegate.core.admission.intents import abandon
from tidegate.core.admission.recovered import make_way
from tidegate.core.cycle import cycle
from tidegate.core.cycle.requeue import record_scans
from tidegate.core.folding.strays import stop_strays
from tidegate.core.members.copies import remove_copies
from tidegate.core.multikueue.dispatch import next_rounds
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.quota.forest import forest
from tidegate.core.quota.readiness import record_readiness
from tidegate.core.reconcile.backoff_expired import requeue_due
from tidegate.core.reconcile.budgets import watch_budgets
from tidegate.core.reconcile.failed_nodes import fail_nodes
from tidegate.core.reconcile.reconcile_workload import reconcile_workloads
from tidegate.core.reconcile.reissue_orders import reissue_orders
from tidegate.core.reconcile.reissue_reservation import reissue_reservations
from tidegate.core.reconcile.removed_queues import release_removed
from tidegate.core.reconcile.timeouts import time_out
from tidegate.core.reconcile.usage_samples import sample_usage
from tidegate.core.state.state import State
from tidegate.core.topology.cluster import topologies
from tidegate.errors import UnknownRulesError

Rule: TypeAlias = Callable[[State], Iterator[list[DecisionEvent]]]
"""Yields what follows, group by group; each is folded before the next is asked for."""

VERSION = 6
"""Raised whenever these rules would decide otherwise on the same facts; see docs/adr/0008.

The scheduler records it with its policy. What an older version decided is decided again by what
``state.policy.rules`` still reaches; a version in ``KNOWN`` must stay so.
"""
KNOWN = range(1, VERSION + 1)
"""Of 1 the sentences of why a workload waits read otherwise; see ``FINISHED_WAKES`` and
``QUOTA_COUNTS`` for 2, ``USAGE_ORDERS`` for 3, ``SENT_SINCE`` and ``STATUS_STAYS`` for 4,
``MAKES_WAY`` and ``SENT_NOWHERE`` for 5."""

RULES: tuple[Rule, ...] = (
    release_removed,  # what quota there is, before anybody asks
    watch_budgets,  # a spent one makes a ClusterQueue inactive
    record_readiness,  # before anything is refused because of it
    sample_usage,  # before it is asked whose LocalQueue used least
    fail_nodes,  # whose pods need another place, before anybody else is placed
    next_rounds,  # which worker clusters are asked next, or are given up
    time_out,  # who must leave because time is up is not to be asked for more
    reconcile_workloads,  # evictions, and stops that are proven: their quota counts from here on
    requeue_due,  # whose time has come competes in this turn's cycles
    reissue_reservations,  # whose checks nobody was asked for
    abandon,  # an intent that can no longer be met keeps nothing from others
    remove_copies,  # of placed jobs, where they have no quota
    stop_strays,  # what no workload stands for must not run
    make_way,  # who would start again beside what leaves no quota for it
    reissue_orders,  # last: what was decided above orders anew by itself
)


def decide(
    state: State, *, cycles_max: int | None = None, decisions_max: int = 1_000
) -> list[DecisionEvent]:
    """Take every decision that follows from the state, folding each as it is taken.

    Args:
        state: changed in place; afterwards settled, unless a bound was reached.
        cycles_max: at most so many scheduling cycles; 0: the rules alone.
        decisions_max: begin no cycle after so many decisions: the rest follows in a next turn.
            A turn ends between two cycles only, so it changes no decision where it ends.

    Raises:
        UnknownRulesError: the ledger says that rules decide here which this version does not have.
    """
    if not is_complete(state):
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
    run = cycle.run_kueue if state.requeue.by_event else cycle.run
    done = 0
    while _settle(context) and (cycles_max is None or done < cycles_max) and run(context):
        done += 1
    record_scans(context)
    return context.decisions


def _settle(context: DecideContext) -> bool:
    """Ask the rules until none has anything to say; tell whether the turn may go on."""
    count_before = -1
    while count_before != len(context.decisions):
        count_before = len(context.decisions)
        for rule in RULES:
            for group in rule(context.state):
                for decision in group:
                    context.record(decision)
    return not context.full
