"""How somebody follows EVENTS: what did not come is looked for before what follows it counts."""

from __future__ import annotations

from tests.simulation.judging.verdict import demand
from tidegate.contracts.entry import Published

LOOKS_MIN = 2
"""How often what did not come is looked for at least: the stream may have lost it for good."""


class Following:
    """Of one process: it dies with it."""

    def __init__(self) -> None:
        self._ledger_id = ""
        self._read = 0
        self._offered = dict[int, int]()  # how often it was told that something is missing, by seq

    def learn(self, ledger_id: str) -> None:
        """Note which ledger the follower was told to be the one of now."""
        if ledger_id and ledger_id != self._ledger_id:
            self._ledger_id, self._read = ledger_id, 0
            self._offered.clear()

    def begin(self, after: int | None) -> None:
        """Note from where it reads."""
        self._read = after or 0

    def offer(self, told: Published) -> None:
        """Note what it is handed."""
        if self._is_behind_a_gap(told):
            self._offered[self._read] = self._offered.get(self._read, 0) + 1

    def take(self, told: Published) -> None:
        """Note that it reads on, and object if it should have looked for what is missing."""
        if self._is_behind_a_gap(told):
            looked = self._offered.get(self._read, 0) >= LOOKS_MIN
            found = (
                f"events {self._read + 1} to {told.seq - 1} did not come, and are not looked for"
            )
            demand(looked, "loss", found)
        if told.ledger_id == self._ledger_id:
            self._read = max(self._read, told.seq)

    def _is_behind_a_gap(self, told: Published) -> bool:
        ours = told.ledger_id == self._ledger_id
        return ours and 0 < self._read < told.seq - 1
