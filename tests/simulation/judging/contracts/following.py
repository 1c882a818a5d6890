"""How a reader follows EVENTS: what did not come is looked for before what follows it counts."""

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

    def offer(self, message: Published) -> None:
        """Note what it is handed."""
        if self._is_behind_a_gap(message):
            self._offered[self._read] = self._offered.get(self._read, 0) + 1

    def take(self, message: Published) -> None:
        """Note that it reads on, and object if it should have looked for what is missing."""
        if self._is_behind_a_gap(message):
            looked = self._offered.get(self._read, 0) >= LOOKS_MIN
            text = (
                f"events {self._read + 1} to {message.seq - 1} did not come, and are not looked for"
            )
            demand(looked, "loss", text)
        if message.ledger_id == self._ledger_id:
            self._read = max(self._read, message.seq)

    def _is_behind_a_gap(self, message: Published) -> bool:
        ours = message.ledger_id == self._ledger_id
        return ours and 0 < self._read < message.seq - 1
