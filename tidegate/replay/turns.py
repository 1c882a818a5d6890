"""A history turn by turn: folded, or each decision taken again and compared with the recorded one.

The same facts in other batches give other decisions, so decisions are repeated in the recorded
turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec

from tidegate.contracts import chain
from tidegate.contracts.codec import decode, type_name
from tidegate.contracts.decisions import Decision, DecisionEvent
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event, FactEvent
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.state.state import State

DECISIONS_MAX = 1_000
"""The bound on a turn's decisions, as in the scheduler."""
NOTHING = "nothing"
_MANY = (list, tuple)


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One field in which two decisions differ."""

    field: str  # its path: "tried[0].unused"; "type" if the events' types differ
    recorded: str  # as JSON
    decided: str


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """The first difference between the recorded decisions and the core's."""

    seq: int  # of the first entry that differs, or is missing
    turn: int
    at_us: int
    recorded: Event | None  # None: the core's decision was not recorded
    decided: Event | None  # None: the core takes no such decision
    differences: tuple[Difference, ...] = ()


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of the scheduler, as recorded."""

    entries: Sequence[Entry]
    events: list[FactEvent | DecisionEvent]
    decisions: int  # how many of the events
    divergence: Divergence | None = None  # where the core decides otherwise, if it decided again


def play(
    entries: Iterable[Entry],
    state: State,
    *,
    redecide: bool = False,
    decisions_max: int = DECISIONS_MAX,
) -> Iterator[Turn]:
    """Yield the turns of a history from its first entry, each after it was folded.

    Args:
        entries: of a ledger, without gaps; the last turn should be complete.
        state: an empty one; afterwards the state after the last yielded turn.
        redecide: take each decision again. The replay ends with a turn that differs, whose state is
            then the core's, not the ledger's.
        decisions_max: the bound on a turn's decisions with which the ledger was written.

    Raises:
        ChainError: the history was altered.
        UndecodableError: an entry holds an event that this version does not know.
    """
    for _, rows in groupby(chain.verify(entries), key=lambda entry: entry.turn):
        turn_rows = list(rows)
        turn = (
            redecide_turn(state, turn_rows, decisions_max)
            if redecide
            else _folded_turn(state, turn_rows)
        )
        yield turn
        if turn.divergence is not None:
            return


def redecide_turn(
    state: State, entries: Sequence[Entry], decisions_max: int = DECISIONS_MAX
) -> Turn:
    """Fold a turn's facts, decide, and compare with the recorded decisions.

    Args:
        state: before the turn; afterwards with the core's decisions, so after a divergence it is
            not the ledger's any more.
        entries: the whole turn.
        decisions_max: the bound on the turn's decisions when it was recorded.
    """
    facts = _fold_facts(state, entries)
    decided, recorded = decide(state, decisions_max=decisions_max), entries[len(facts) :]
    if _is_same(recorded, decided):
        return Turn(entries=entries, events=[*facts, *decided], decisions=len(decided))
    decisions = [decode(entry.payload) for entry in recorded]
    return Turn(
        entries=entries,
        events=[*facts, *decisions],
        decisions=len(decisions),
        divergence=_first_divergence(entries, len(facts), decisions, decided),
    )


def _fold_facts(state: State, entries: Sequence[Entry]) -> list[FactEvent | DecisionEvent]:
    """Fold a turn's facts, which come before its decisions, and return them."""
    facts: list[FactEvent | DecisionEvent] = []
    for entry in entries:
        event = decode(entry.payload)
        if isinstance(event, Decision):
            break
        apply_recorded(state, event)
        facts.append(event)
    return facts


def _is_same(recorded: Sequence[Entry], decided: Sequence[DecisionEvent]) -> bool:
    """Return whether the ledger has these decisions byte for byte.

    Encoding a decision is cheaper than decoding the recorded one and comparing both.
    """
    return len(recorded) == len(decided) and all(
        entry.payload == msgspec.json.encode(event).decode()
        for entry, event in zip(recorded, decided, strict=True)
    )


def differences(recorded: Event | None, decided: Event | None) -> tuple[Difference, ...]:
    """Return the fields in which two events differ, in the fields' order."""
    if type(recorded) is not type(decided):
        was, now = (NOTHING if event is None else type_name(event) for event in (recorded, decided))
        return (_difference("type", was, now),)
    return tuple(
        _nested_differences("", msgspec.to_builtins(recorded), msgspec.to_builtins(decided))
    )


def _first_divergence(
    entries: Sequence[Entry], facts: int, recorded: Sequence[Event], decided: Sequence[Event]
) -> Divergence | None:
    for place in range(max(len(recorded), len(decided))):
        was = recorded[place] if place < len(recorded) else None
        now = decided[place] if place < len(decided) else None
        if was != now:
            return Divergence(
                seq=entries[0].seq + facts + place,
                turn=entries[0].turn,
                at_us=entries[-1].at_us,
                recorded=was,
                decided=now,
                differences=differences(was, now),
            )
    return None


def _nested_differences(path: str, was: Any, now: Any) -> Iterator[Difference]:  # noqa: ANN401 - any JSON
    if isinstance(was, dict) and isinstance(now, dict):
        for name in dict.fromkeys((*was, *now)):
            inner = f"{path}.{name}" if path else str(name)
            yield from _nested_differences(inner, was.get(name), now.get(name))
    elif isinstance(was, _MANY) and isinstance(now, _MANY) and len(was) == len(now):
        for index, (before, after) in enumerate(zip(was, now, strict=True)):
            yield from _nested_differences(f"{path}[{index}]", before, after)
    elif was != now:
        yield _difference(path, was, now)


def _difference(field: str, was: Any, now: Any) -> Difference:  # noqa: ANN401 - any JSON
    recorded, decided = (msgspec.json.encode(event).decode() for event in (was, now))
    return Difference(field=field, recorded=recorded, decided=decided)


def _folded_turn(state: State, entries: list[Entry]) -> Turn:
    events = list[FactEvent | DecisionEvent]()
    for entry in entries:
        event = decode(entry.payload)
        apply_recorded(state, event)
        events.append(event)
    decisions = sum(isinstance(event, Decision) for event in events)
    return Turn(entries=entries, events=events, decisions=decisions)
