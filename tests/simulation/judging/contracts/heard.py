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

    def take_in(self, messages: Iterable[Message]) -> None:
        """Note what was handed on."""
        for message in messages:
            self._handed.setdefault(message.at.incarnation, set()).add(message.at.seq)
            began = decode_observation(message.payload) if _BEGINS in message.payload[:40] else None
            if isinstance(began, SyncStarted):
                self._began[began.session, began.resource, began.round] = message.at

    def ask(self) -> None:
        """Note that everybody was asked to tell everything again."""
        self._asked = True

    def commit(self, before: Position, after: Position | None, entries: Iterable[Entry]) -> None:
        """Object to what was missed and not written down, and to what no resync asks for."""
        own = (decode(entry.payload) for entry in entries)
        events = [event for event in own if not is_of_member(event)]
        ours = before if before.incarnation or after is None else after
        if self._gap.seq and before.incarnation not in (0, self._gap.incarnation):
            self._gap = Position(before.incarnation, 1)  # another's term came to that stream
        self._object_to_halves(ours.incarnation, events)
        lost = any(isinstance(event, GapObserved | StreamReplaced) for event in events)
        demand(not lost or self._asked, "loss", "something is missed, and no resync asks for it")
        self._asked = False if lost else self._asked
        if after is None or lost or after.incarnation != before.incarnation:
            return
        handed = self._handed.get(after.incarnation, set())
        missed = [seq for seq in range(before.seq + 1, after.seq + 1) if seq not in handed]
        demand(not missed, "loss", f"observations {missed[:3]} count as read, and never came")

    def _object_to_halves(self, incarnation: int, values: Iterable[object]) -> None:
        """Object if a round counts that began before something was lost."""
        for event in values:
            match event:
                case StreamReplaced():
                    incarnation = event.incarnation
                    self._gap = Position(incarnation, 1)
                case GapObserved() if event.found_seq > event.expected_seq:
                    self._gap = Position(incarnation, event.found_seq)
                case RoundCompleted():
                    key = event.session, event.resource, event.round
                    began = self._began.get(key, self._gap)
                    same = began.incarnation == self._gap.incarnation
                    halved = self._gap.seq and not (same and began.seq >= self._gap.seq)
                    demand(not halved, "loss", f"round {key} counts, and lost something")
                case _:
                    pass


def is_of_member(event: object) -> bool:
    """Tell whether a fact is about the stream of a member cluster."""
    return isinstance(event, GapObserved | StreamReplaced) and event.cluster != ""
