"""What one scheduler was handed of the observations, held against what it says that it read."""

from __future__ import annotations

from collections.abc import Iterable

from tests.simulation.judging.verdict import demand
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry, Message, Position
from tidegate.contracts.fact_kinds.reception import GapObserved, StreamReplaced


class Heard:
    """Of one process: it dies with it."""

    def __init__(self) -> None:
        self._handed = dict[int, set[int]]()  # by incarnation
        self._asked = False

    def take_in(self, told: Iterable[Message]) -> None:
        """Note what was handed on."""
        for one in told:
            self._handed.setdefault(one.at.incarnation, set()).add(one.at.seq)

    def ask(self) -> None:
        """Note that everybody was asked to tell everything again."""
        self._asked = True

    def commit(self, before: Position, after: Position | None, entries: Iterable[Entry]) -> None:
        """Object to what was missed and is not written down, and to what nobody asks for again."""
        told = [decode(entry.payload) for entry in entries]
        lost = any(isinstance(one, GapObserved | StreamReplaced) for one in told)
        demand(not lost or self._asked, "loss", "something is missed, and nobody asks for it again")
        self._asked = False if lost else self._asked
        if after is None or lost or after.incarnation != before.incarnation:
            return
        handed = self._handed.get(after.incarnation, set())
        missed = [seq for seq in range(before.seq + 1, after.seq + 1) if seq not in handed]
        demand(not missed, "loss", f"observations {missed[:3]} count as read, and never came")
