"""Observations that make the core or the ledger raise: each is refused, and the next goes on.

A turn that fails is thrown away with its leader state. The next ones take one observation each, so
that the one that is to blame fails alone; from then on it counts as refused. What is refused is a
fact, so a replay needs none of this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tidegate.contracts.entry import Message, Position
from tidegate.errors import PoisonedTurnError

_ERROR_MAX = 512
_NONE: Mapping[Position, str] = {}


class Batch(NamedTuple):
    """The observations of one stream in a turn."""

    cluster: str  # the member cluster; empty: the ledger's own
    messages: Sequence[Message]


@dataclass(slots=True)
class PoisonObservations:
    """The poison observations that one scheduler knows, by cluster; empty after a start."""

    _refused: dict[str, dict[Position, str]] = field(default_factory=dict)
    _until: dict[str, Position] = field(default_factory=dict)

    def refused_reasons(self, cluster: str) -> Mapping[Position, str]:
        """Return why which observations of a cluster's stream are refused."""
        return self._refused.get(cluster, _NONE)

    def batch_limit(self, cluster: str, accepted: Position, usual: int) -> int:
        """Return how many observations of a cluster's stream the next turn may take."""
        return 1 if self.may_follow(cluster, accepted) else usual

    def may_follow(self, cluster: str, accepted: Position) -> bool:
        """Return whether what made a turn fail may follow a position."""
        until = self._until.get(cluster)
        if until is None or accepted.incarnation != until.incarnation:
            return False
        return accepted.seq < until.seq

    def record_failure(self, batches: Sequence[Batch], error: Exception) -> PoisonedTurnError:
        """Return the error that ends a turn; what is to blame is known, or will be found.

        Raises:
            The error itself: no observation is to blame for it.
        """
        filled = [batch for batch in batches if batch.messages]
        if not filled or filled[0].messages[0].at in self.refused_reasons(filled[0].cluster):
            raise error
        reason = f"{type(error).__name__}: {error}"[:_ERROR_MAX]
        if sum(len(batch.messages) for batch in filled) == 1:
            # What was refused before is in the ledger by now.
            self._refused = {filled[0].cluster: {filled[0].messages[0].at: reason}}
        self._until = {batch.cluster: batch.messages[-1].at for batch in filled}
        return PoisonedTurnError(reason)
