"""Up to where OBSERVATIONS can be purged that several partitions read."""

from __future__ import annotations

from sqlalchemy import Engine

from store.ledger import SqlLedger
from tidegate.contracts.entry import Position, Positions


def test_partitions_that_are_led_keep_observations(engine: Engine) -> None:
    now_us = 1_000
    first, second = (SqlLedger(engine, number, clock_us=lambda: now_us) for number in range(2))
    first.begin_term("a", 3_600_000_000)
    second.begin_term("b", 50)
    assert first.purge_limit(Position(7, 20)) == Position()  # the other has read nothing of it
    second.append(1, 0, [], Positions(observations=Position(7, 12)))
    assert first.purge_limit(Position(7, 20)) == Position(7, 12)
    assert second.purge_limit(Position(7, 12)) == Position()
    first.append(1, 0, [], Positions(observations=Position(7, 20)))
    assert second.purge_limit(Position(7, 12)) == Position(7, 12)
    assert first.purge_limit(Position(8, 3)) == Position()  # the stream was made anew
    now_us += 50
    assert first.purge_limit(Position(7, 20)) == Position(7, 20)
