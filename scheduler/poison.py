"""Observations that make the core raise: each is isolated and refused, and the next goes on.

A turn that fails is thrown away with its leader state. The next ones take one observation each, so
that the one that is to blame fails alone; from then on it counts as refused. What is refused is a
fact, so a replay needs none of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tidegate.contracts.entry import Message, Position
from tidegate.errors import PoisonedTurnError

_ERROR_MAX = 512


@dataclass(slots=True)
class Poison:
    """What one scheduler knows of such observations; empty after a start."""

    refused: dict[Position, str] = field(default_factory=dict)
    _until: Position = field(default_factory=Position)

    def count_max(self, accepted: Position, usual: int) -> int:
        """Return how many observations the next turn may take."""
        behind = accepted.incarnation == self._until.incarnation and accepted.seq < self._until.seq
        return 1 if behind else usual

    def blame(self, messages: Sequence[Message], error: Exception) -> PoisonedTurnError:
        """Return the error that ends a turn; what is to blame is known, or will be found.

        Raises:
            The error itself: no observation is to blame for it.
        """
        if not messages or messages[0].at in self.refused:
            raise error
        reason = f"{type(error).__name__}: {error}"[:_ERROR_MAX]
        if len(messages) == 1:
            self.refused = {
                messages[0].at: reason
            }  # what was refused before is in the ledger by now
        self._until = messages[-1].at
        return PoisonedTurnError(reason)
