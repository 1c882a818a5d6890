"""What one scheduler was handed of the observations, held against what it says that it read."""

from __future__ import annotations

from collections.abc import Iterable

from tests.simulation.judging.verdict import demand
from tidegate.contracts.codec import decode, decode_observation
from tidegate.contracts.entry import Entry, Message, Position
from tidegate.contracts.fact_kinds.reception import GapObserved, RoundCompleted, StreamReplaced
from tidegate.contracts.observations import SyncStarted

_BEGINS = b'"SyncStarted/1"'


class Heard:
    """Of one process: it dies with it."""

    def __init__(self) -> None:
        self._handed = dict[int, set[int]]()  # by incarnation
        self._asked = False
        self._began = dict[tuple[str, str, int], Position]()  # of each round, where it begins
        self._gap = Position()  # where the newest loss ended

    def take_in(self, told: Iterable[Message]) -> None:
        """Note what was handed on."""
        for one in told:
            self._handed.setdefault(one.at.incarnation, set()).add(one.at.seq)
            began = decode_observation(one.payload) if _BEGINS in one.payload[:40] else None
            if isinstance(began, SyncStarted):
                self._began[began.session, began.resource, began.round] = one.at

    def ask(self) -> None:
        """Note that everybody was asked to tell everything again."""
        self._asked = True

    def commit(self, before: Position, after: Position | None, entries: Iterable[Entry]) -> None:
        """Object to what was missed and is not written down, and to what nobody asks for again."""
        own = (decode(entry.payload) for entry in entries)
        told = [one for one in own if not is_of_member(one)]
        ours = before if before.incarnation or after is None else after
        if self._gap.seq and before.incarnation not in (0, self._gap.incarnation):
            self._gap = Position(before.incarnation, 1)  # another's term came to that stream
        self._object_to_halves(ours.incarnation, told)
        lost = any(isinstance(one, GapObserved | StreamReplaced) for one in told)
        demand(not lost or self._asked, "loss", "something is missed, and nobody asks for it again")
        self._asked = False if lost else self._asked
        if after is None or lost or after.incarnation != before.incarnation:
            return
        handed = self._handed.get(after.incarnation, set())
        missed = [seq for seq in range(before.seq + 1, after.seq + 1) if seq not in handed]
        demand(not missed, "loss", f"observations {missed[:3]} count as read, and never came")

    def _object_to_halves(self, incarnation: int, told: Iterable[object]) -> None:
        """Object if a round counts that began before something was lost."""
        for one in told:
            match one:
                case StreamReplaced():
                    incarnation = one.incarnation
                    self._gap = Position(incarnation, 1)
                case GapObserved() if one.found_seq > one.expected_seq:
                    self._gap = Position(incarnation, one.found_seq)
                case RoundCompleted():
                    key = one.session, one.resource, one.round
                    began = self._began.get(key, self._gap)
                    same = began.incarnation == self._gap.incarnation
                    halved = self._gap.seq and not (same and began.seq >= self._gap.seq)
                    demand(not halved, "loss", f"round {key} counts, and lost something")
                case _:
                    pass


def is_of_member(event: object) -> bool:
    """Tell whether a fact is about the stream of a member cluster."""
    return isinstance(event, GapObserved | StreamReplaced) and event.cluster != ""
