"""Histories for the store's tests: entries sealed as the scheduler seals them."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.entry import Entry, Position, Positions
from tidegate.contracts.facts import FactEvent, TimePassed

AT = Positions(observations=Position(7, 5), events=Position(8, 0))
LEASE_US = 10_000_000


def ticks(count: int) -> list[Entry]:
    """Return entries that mean nothing, for what only counts them; two a turn."""
    entries, head = list[Entry](), GENESIS
    while len(entries) < count:
        turn = [TimePassed(at_us=len(entries) + n) for n in range(min(2, count - len(entries)))]
        entries += seal(head, 1, "local", turn)
        head = entries[-1]
    return entries


def sealed(*turns: Sequence[FactEvent | DecisionEvent]) -> list[list[Entry]]:
    """Seal turns of events, one after the other."""
    entries, head = list[list[Entry]](), GENESIS
    for turn in turns:
        entries.append(seal(head, 1, "local", turn))
        head = entries[-1][-1]
    return entries
