"""Why a step went elsewhere under Tidegate's rules: told from the first move that only one made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tidegate.contracts.decisions import (
    DecisionEvent,
    PreemptionIntended,
    QuotaReserved,
    WorkloadHeld,
    WorkloadPreempted,
)
from tidegate.contracts.facts import FactEvent
from tidegate.core.draft import Draft

Event: TypeAlias = FactEvent | DecisionEvent


@dataclass(frozen=True)
class Move:
    """Somebody who is admitted, to what, or who preempts, whom."""

    kind: str  # "admit" or "preempt"
    workload: str
    of: tuple[str, ...]  # flavors with counts, or victims


@dataclass
class Pair:
    """One step under both rules."""

    draft: Draft  # ours, at the end
    journal: list[Event]  # ours, from the beginning
    theirs: list[Move]
    ours: list[Move]


def moves(journal: Iterable[Event]) -> Iterator[Move]:
    """Yield the moves of a journal in order."""
    for event in journal:
        if isinstance(event, QuotaReserved):
            given = (f"{one.count} {sorted(one.flavors.items())}" for one in event.assignment)
            yield Move("admit", _short(event.workload), tuple(given))
        elif isinstance(event, PreemptionIntended):
            victims = sorted(_short(one.workload) for one in event.victims)
            yield Move("preempt", _short(event.workload), tuple(victims))


def reason(pair: Pair) -> str:
    """Return why ours is better, in a few words."""
    at_theirs, at_ours = _first_alone(pair.theirs, pair.ours), _first_alone(pair.ours, pair.theirs)
    if at_theirs is None and at_ours is None:
        return "the same moves in another order"
    if at_theirs is not None and (at_ours is None or at_theirs < at_ours):
        return _not_done(pair, pair.theirs[at_theirs])
    assert at_ours is not None
    return _done(pair, pair.ours[at_ours])


def _first_alone(these: list[Move], those: list[Move]) -> int | None:
    """Return the place of the first move that the others do not make (as often)."""
    left = Counter(those)
    for at, move in enumerate(these):
        if not left[move]:
            return at
        left[move] -= 1
    return None


def _done(pair: Pair, move: Move) -> str:
    """Say why we make a move that Kueue does not."""
    name = move.workload
    if move.kind == "preempt":
        others = [one for one in pair.theirs if one.kind == "preempt" and one.workload == name]
        if others:
            return f"{name} asks anew whom it takes to start now"
        return f"{name} has its turn, which Kueue had given to a workload that came back"
    elsewhere = [one for one in pair.theirs if one.kind == "admit" and one.workload == name]
    if elsewhere:
        return f"{name} is looked at from its first flavor on, not from where a scan once stopped"
    if _intended(pair.journal, name):
        return f"{name} starts in the room that it made"
    return f"{name} starts in room that is free, and nobody keeps it"


def _not_done(pair: Pair, move: Move) -> str:
    """Say why we do not make a move that Kueue makes."""
    name = move.workload
    if move.kind == "preempt":
        if name in _displaced(pair.journal):
            return f"{name} was preempted itself and does not pass it on to another queue"
        if any(one.kind == "admit" and one.workload == name for one in pair.ours):
            return f"{name} starts without preempting {', '.join(move.of)}"
        return f"{name} need not preempt {', '.join(move.of)}, who would only come back"
    if preemptor := _made_way(pair.journal, name):
        return f"{name} made way for {preemptor} and comes back after it, not before"
    elsewhere = [one for one in pair.ours if one.kind == "admit" and one.workload == name]
    if elsewhere:
        return f"{name} is looked at from its first flavor on, not from where a scan once stopped"
    if any("quota of its own goes first" in said for said in _said(pair.journal, name)):
        return f"{name} would borrow what an owner takes in the same moment"
    return f"what {name} would take goes to those before it in the order"


def _intended(journal: Iterable[Event], name: str) -> bool:
    found = (one.workload for one in journal if isinstance(one, PreemptionIntended))
    return name in map(_short, found)


def _displaced(journal: Iterable[Event]) -> set[str]:
    """Return who was ever preempted."""
    return {_short(one.workload) for one in journal if isinstance(one, WorkloadPreempted)}


def _made_way(journal: Iterable[Event], name: str) -> str:
    """Return who preempted a workload last, "" if nobody did."""
    by = ""
    for one in journal:
        if isinstance(one, WorkloadPreempted) and _short(one.workload) == name:
            by = _short(one.by)
    return by


def _said(journal: Iterable[Event], name: str) -> Iterator[str]:
    for one in journal:
        if isinstance(one, WorkloadHeld) and _short(one.workload) == name:
            yield one.message


def _short(key: str) -> str:
    return key.partition("/")[2]
