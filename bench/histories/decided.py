"""Histories that the core decided: the baseline mix, as the scheduler would write it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bench.virtual.driving import Cluster, drive
from bench.virtual.loads import BASELINE
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event, FactEvent
from tidegate.core.decide import decide


@dataclass
class Recorder(Cluster):
    """A cluster that remembers facts and decisions, in turns."""

    turns: list[list[Event]] = field(default_factory=list)
    facts_of_turn: list[Event] = field(default_factory=list)

    def fold(self, events: Iterator[FactEvent] | list[FactEvent]) -> None:
        """Fold facts; they begin the next turn."""
        facts = list(events)
        super().fold(facts)
        self.facts_of_turn += facts

    def decide(self, decisions_max: int) -> bool:
        """Decide until nothing follows; each answer of the core ends a turn."""
        while decisions := decide(self.state):
            self._end_turn(decisions)
            for decision in decisions:
                self._apply_order(decision)
            if self.tally.decisions > decisions_max:
                return False
        self._end_turn([])
        return True

    def _end_turn(self, decisions: Sequence[Event]) -> None:
        self.tally.decisions += len(decisions)
        if turn := [*self.facts_of_turn, *decisions]:
            self.turns.append(turn)
        self.facts_of_turn = []


def baseline_turns() -> list[list[Event]]:
    """Return the baseline mix's events (classic, in step), as turns that an audit can repeat."""
    recorder = Recorder()
    drive(BASELINE, "default", fair=False, staggered=False, cluster=recorder)
    return recorder.turns


def seal_turns(turns: Sequence[Sequence[Event]]) -> list[list[Entry]]:
    """Chain turns of events."""
    entrieses, head = list[list[Entry]](), GENESIS
    for turn in turns:
        entrieses.append(seal(head, 1, "local", turn))
        head = entrieses[-1][-1]
    return entrieses


def regroup_turns(turns: Sequence[Sequence[Event]], size: int, limit: int) -> list[list[Entry]]:
    """Return the first events in turns of another size, for measuring what only stores them."""
    events = [event for turn in turns for event in turn][:limit]
    return seal_turns([events[first : first + size] for first in range(0, len(events), size)])
