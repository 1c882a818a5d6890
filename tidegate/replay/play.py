"""Replays a ledger turn by turn for a viewer, and verifies the chain on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import msgspec

from tidegate.contracts import chain
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import Decision, DecisionEvent
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import FactEvent
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.state.state import State
from tidegate.replay.redecide import DECISIONS_MAX, Divergence, redecide_turn


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of the scheduler, as recorded."""

    entries: list[Entry]
    events: list[FactEvent | DecisionEvent]
    decisions: int  # how many of the events
    divergence: Divergence | None = None  # where the core decides otherwise, with ``redecide``


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
            _redecided_turn(state, turn_rows, decisions_max)
            if redecide
            else _folded_turn(state, turn_rows)
        )
        yield turn
        if turn.divergence is not None:
            return


def _redecided_turn(state: State, entries: list[Entry], decisions_max: int) -> Turn:
    again = redecide_turn(state, entries, decisions_max)
    return Turn(
        entries=entries,
        events=again.events,
        decisions=again.decisions,
        divergence=again.divergence,
    )


def _folded_turn(state: State, entries: list[Entry]) -> Turn:
    events = list[FactEvent | DecisionEvent]()
    for entry in entries:
        event = decode(entry.payload)
        apply_recorded(state, event)
        events.append(event)
    decisions = sum(isinstance(event, Decision) for event in events)
    return Turn(entries=entries, events=events, decisions=decisions)
