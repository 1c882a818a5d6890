"""What the judge takes for a round that counts though it lost something, and what it does not."""

from __future__ import annotations

import pytest

from tests.simulation.judging.contracts.heard import Heard
from tests.simulation.judging.verdict import OBJECTIONS, BrokenRuleError
from tidegate.contracts.codec import encode
from tidegate.contracts.entry import Entry, Message, Position
from tidegate.contracts.fact_kinds.reception import GapObserved, RoundCompleted
from tidegate.contracts.observations import SyncStarted

FORMER, ANEW = 1, 2


@pytest.fixture(autouse=True)
def _no_objections() -> None:
    OBJECTIONS.clear()


@pytest.fixture
def heard() -> Heard:
    """Return a scheduler's reads that missed an observation, after its term."""
    heard = Heard()
    heard.ask()
    gap = written(GapObserved(at_us=1, expected_seq=4, found_seq=5))
    heard.commit(Position(FORMER, 3), Position(FORMER, 5), [gap])
    return heard


def written(event: GapObserved | RoundCompleted) -> Entry:
    payload = encode(event).decode()
    return Entry(0, 1, 1, 1, 1, "local", "", "", payload, b"")


def begin(heard: Heard, at: Position) -> None:
    observation = SyncStarted(resource="jobs.batch", session="a", round=1)
    heard.take_in([Message(at, 1, "", encode(observation))])


def end(heard: Heard, after: Position) -> None:
    event = RoundCompleted(at_us=1, resource="jobs.batch", session="a", round=1, list_version=1)
    heard.commit(Position(after.incarnation, after.seq - 1), after, [written(event)])


def test_a_round_of_a_stream_that_came_in_anothers_term_counts(heard: Heard) -> None:
    begin(heard, Position(ANEW, 2))
    end(heard, Position(ANEW, 2))


def test_a_round_that_began_in_the_stream_before_does_not(heard: Heard) -> None:
    begin(heard, Position(FORMER, 6))
    with pytest.raises(BrokenRuleError, match="counts, and lost something"):
        end(heard, Position(ANEW, 2))
    OBJECTIONS.clear()


def test_a_round_that_began_before_a_loss_does_not(heard: Heard) -> None:
    begin(heard, Position(FORMER, 4))
    with pytest.raises(BrokenRuleError, match="counts, and lost something"):
        end(heard, Position(FORMER, 6))
    OBJECTIONS.clear()
