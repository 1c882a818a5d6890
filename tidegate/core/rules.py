"""The rules of a turn in their order, and ``decide``: a new rule is one function and one row.

Each rule is asked until it has nothing to say; whatever it decides is folded at once and makes a
thing true that silences it. After the rules come scheduling cycles, until one changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from tidegate.contracts.decisions import DecisionEvent
from tidegate.core import cycle
from tidegate.core.accepting.adoption import is_complete
from tidegate.core.deciding.asking import ask_again
from tidegate.core.deciding.intents import abandon
from tidegate.core.deciding.leaving import attend
from tidegate.core.deciding.readiness import tell_readiness
from tidegate.core.deciding.repair import repair
from tidegate.core.deciding.timeouts import time_out
from tidegate.core.deciding.waiting import requeue_due
from tidegate.core.draft import Draft
from tidegate.core.forest import forest
from tidegate.core.passing import Pass
from tidegate.core.requeueing import tell_scans
from tidegate.core.strays import stop_strays
from tidegate.errors import UnknownRulesError

Rule: TypeAlias = Callable[[Draft], Iterator[list[DecisionEvent]]]
"""Yields what follows, group by group; each is folded before the next is asked for."""

VERSION = 1
"""Raised whenever these rules would decide otherwise on the same facts; see docs/adr/0008.

The scheduler records it with its policy. What an older version decided is decided again by what
``draft.policy.rules`` still reaches; a version in ``KNOWN`` must stay so.
"""
KNOWN = (VERSION,)

RULES: tuple[Rule, ...] = (
    tell_readiness,  # before anything is refused because of it
    time_out,  # who must leave because time is up is not to be asked for more
    attend,  # who must leave, and who has left: their quota counts for all that follows
    requeue_due,  # whose time has come competes in this turn's cycles
    ask_again,  # whose checks nobody was asked for
    abandon,  # an intent that can no longer be met keeps nothing from others
    stop_strays,  # what no workload stands for must not run
    repair,  # last: what was decided above orders anew by itself
)


def decide(
    draft: Draft, *, cycles_max: int | None = None, decisions_max: int = 1_000
) -> list[DecisionEvent]:
    """Take every decision that follows from the draft, folding each as it is taken.

    Args:
        draft: changed in place; afterwards settled, unless a bound was reached.
        cycles_max: at most so many scheduling cycles; 0: the rules alone.
        decisions_max: begin no cycle after so many decisions: the rest follows in a next turn.
            A turn ends between two cycles only, so it changes no decision where it ends.

    Raises:
        UnknownRulesError: the ledger says that rules decide here which this version does not have.
    """
    if not is_complete(draft):
        return []
    if draft.policy.rules not in KNOWN:
        raise UnknownRulesError(f"rules of a version up to {VERSION}", draft.policy.rules)
    forest(draft)
    run_of = Pass(
        draft=draft,
        decisions_max=decisions_max,
        kueue=draft.policy.compatibility == "kueue",
        cycle=draft.cycle,
    )
    run = cycle.run_kueue if run_of.kueue else cycle.run
    done = 0
    while _settle(run_of) and (cycles_max is None or done < cycles_max) and run(run_of):
        done += 1
    tell_scans(run_of)
    return run_of.decisions


def _settle(run_of: Pass) -> bool:
    """Ask the rules until none has anything to say; tell whether the turn may go on."""
    said = -1
    while said != len(run_of.decisions):
        said = len(run_of.decisions)
        for rule in RULES:
            for group in rule(run_of.draft):
                for decision in group:
                    run_of.tell(decision)
    return not run_of.full
