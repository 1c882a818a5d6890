"""Why a step went elsewhere under Tidegate's rules: which of them did it, and what for.

A rule is the cause if the step goes differently once it is left out. Where none of those that can
be left out is, it is the durable intent, that flavors are looked at from the first on, or that
a queue's head is the first of its workloads that can act.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tests.differential.without import DISPLACED, FLAVORS, GAPS, OWNERS, RESOURCES, SHARES
from tidegate.contracts.decisions import (
    DecisionEvent,
    PreemptionIntended,
    QuotaReserved,
    WorkloadPending,
    WorkloadPreempted,
)
from tidegate.contracts.facts import FactEvent

Event: TypeAlias = FactEvent | DecisionEvent
INTENT, SCAN = "durable intent", "from the first flavor"
ABLE = "heads that can act"


@dataclass(frozen=True)
class Move:
    """A workload that is admitted, and its flavors, or that preempts, and its victim."""

    kind: str  # "admit" or "preempt"
    workload: str
    of: tuple[str, ...]  # flavors with counts, or victims


@dataclass
class Pair:
    """One step under both rules: what was reported in it."""

    theirs: list[Event]
    ours: list[Event]
    theirs_before: list[Event]  # until the step
    before: list[Event]  # ours until then


def moves(journal: Iterable[Event]) -> Iterator[Move]:
    """Yield the moves of a journal in order."""
    for event in journal:
        if isinstance(event, QuotaReserved):
            given = (
                f"{assignment.count} {sorted(assignment.flavors.items())}"
                for assignment in event.assignment
            )
            yield Move("admit", short(event.workload), tuple(given))
        elif isinstance(event, PreemptionIntended):
            victims = sorted(short(victim.workload) for victim in event.victims)
            yield Move("preempt", short(event.workload), tuple(victims))


def remaining(pair: Pair) -> str:
    """Return the rule that did it where none did that can be left out."""
    events = [*pair.before, *pair.theirs, *pair.ours]
    preempts = any(isinstance(event, PreemptionIntended) for event in events)
    scans = any(
        isinstance(event, WorkloadPending) and event.scan
        for event in (*pair.theirs_before, *pair.theirs)
    )
    name = _alone(pair.ours, pair.theirs).workload
    moved = [move for move in moves(pair.theirs) if move.workload == name and move.kind == "admit"]
    if scans and (moved or not preempts):
        return SCAN
    return INTENT if preempts else ABLE


def why(rule: str, pair: Pair) -> str:
    """Return what a rule was good for in a step, in a few words."""
    lone = _alone(pair.ours, pair.theirs), _alone(pair.theirs, pair.ours)
    ours, theirs = (move.workload for move in lone)
    if rule == INTENT:
        return _kept(pair, lone)
    if rule == OWNERS:
        ours = _borrower(pair) or theirs
    elif rule == DISPLACED and lone[1].kind == "preempt":
        ours = theirs if theirs in _preempted([*pair.before, *pair.theirs]) else ours
    elif rule == SHARES:
        ours = theirs or ours
    return _WHY[rule].format(ours)


_WHY = {
    OWNERS: "{} starts by borrowing only after all workloads with own quota",
    DISPLACED: "{}: a preempted workload does not pass it on to other queues",
    SHARES: "{} preempts no workload for shares that would return",
    GAPS: "{} preempts where the ClusterQueue then still uses all of its own quota",
    SCAN: "{} is tried from its preferred flavor on, not from where a scan stopped",
    FLAVORS: "{} starts on a free flavor at which the scan did not stop",
    RESOURCES: "{} does not get a flavor without quota for one of its resources",
    ABLE: "{} does not wait behind heads that could neither start nor preempt",
}


def short(key: str) -> str:
    """Return a workload's name without its namespace."""
    return key.partition("/")[2]


def _kept(pair: Pair, lone: tuple[Move, Move]) -> str:
    ours, theirs = lone
    if theirs.kind == "admit" and (by := _made_way(pair.ours, theirs.workload)):
        return f"{theirs.workload} made way for {by} and comes back after it, not before"
    if theirs.kind == "preempt" and theirs.of:
        return f"{theirs.workload} does not preempt {', '.join(theirs.of)}"
    if ours.kind == "preempt" and ours.of:
        return f"{ours.workload} gets the quota that {', '.join(ours.of)} releases"
    return f"{ours.workload or theirs.workload}: quota kept for a preemptor goes to no other"


def _alone(these: Iterable[Event], those: Iterable[Event]) -> Move:
    """Return the first move that the others do not make (as often); one without name if none."""
    left = Counter(moves(those))
    for move in moves(these):
        if not left[move]:
            return move
        left[move] -= 1
    return Move("", "", ())


def _borrower(pair: Pair) -> str:
    """Return the first workload that borrowed with Kueue and started differently here."""
    same = Counter(moves(pair.ours))
    for event in pair.theirs:
        if isinstance(event, QuotaReserved) and event.borrows and not same[next(moves([event]))]:
            return short(event.workload)
    ours = (event for event in pair.ours if isinstance(event, QuotaReserved) and event.borrows)
    return next((short(decision.workload) for decision in ours), "")


def _preempted(journal: Iterable[Event]) -> set[str]:
    return {short(event.workload) for event in journal if isinstance(event, WorkloadPreempted)}


def _made_way(journal: Iterable[Event], name: str) -> str:
    """Return the workload that preempted another one last; empty: none did."""
    by = ""
    for event in journal:
        if isinstance(event, WorkloadPreempted) and short(event.workload) == name:
            by = short(event.by)
    return by


RULES = (OWNERS, INTENT, DISPLACED, SHARES, GAPS, SCAN, FLAVORS, RESOURCES, ABLE)
"""All rules by their names in docs/differences.md."""
