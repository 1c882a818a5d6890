"""A history played turn by turn, to be looked at as it goes; the chain is checked on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import msgspec

from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import Decision, DecisionEvent
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import FactEvent
from tidegate.core import chain
from tidegate.core.draft import Draft
from tidegate.core.fold import apply
from tidegate.replay.redecide import DECISIONS_MAX, Divergence, decide_again


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of the scheduler, as recorded."""

    entries: list[Entry]
    events: list[FactEvent | DecisionEvent]
    decisions: int  # how many of the events
    divergence: Divergence | None = None  # where the core decides otherwise, if that was asked


def play(
    entries: Iterable[Entry],
    draft: Draft,
    *,
    redecide: bool = False,
    decisions_max: int = DECISIONS_MAX,
) -> Iterator[Turn]:
    """Yield the turns of a history from its first entry, each once it is folded.

    Args:
        entries: a ledger's, without a gap; turns are taken whole, so its last one should be.
        draft: an empty one; afterwards as it is after the turn that was yielded last.
        redecide: take each decision again. The play ends with the turn that differs, whose draft
            is then the core's, not the ledger's.
        decisions_max: the bound on decisions that each turn was decided with.

    Raises:
        ChainError: the history was altered.
        UndecodableError: an entry holds an event that this version does not know.
    """
    for _, rows in groupby(chain.verify(entries), key=lambda entry: entry.turn):
        told = list(rows)
        turn = _again(draft, told, decisions_max) if redecide else _folded(draft, told)
        yield turn
        if turn.divergence is not None:
            return


def _again(draft: Draft, told: list[Entry], decisions_max: int) -> Turn:
    found = decide_again(draft, told, decisions_max)
    return Turn(
        entries=told,
        events=found.events,
        decisions=found.decisions,
        divergence=found.divergence,
    )


def _folded(draft: Draft, told: list[Entry]) -> Turn:
    events = list[FactEvent | DecisionEvent]()
    for entry in told:
        event = decode(entry.payload)
        apply(draft, event)
        events.append(event)
    decisions = sum(isinstance(event, Decision) for event in events)
    return Turn(entries=told, events=events, decisions=decisions)
