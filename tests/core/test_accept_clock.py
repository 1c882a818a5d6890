"""Heartbeats are the only clock, and only a deadline makes time a fact."""

from __future__ import annotations

import pytest

from tests.core.telling import BEGIN, SECOND, Bus, beat, flavor, job, types
from tidegate.contracts.facts import ClockSkewed, TimePassed, WatchesExpected
from tidegate.core.state import deadlines
from tidegate.core.state.dedup import Dedup

HOUR = 3_600 * SECOND


def at(bus: Bus, at_us: int) -> Bus:
    bus.at_us = at_us
    return bus


def waiting() -> Bus:
    """Return a bus whose first heartbeat was heard, and a deadline three seconds later."""
    bus = Bus().opened()
    bus.tell(beat(1, "pods"))
    deadlines.set(bus.state, "ready/a", BEGIN + 3 * SECOND)
    return bus


def test_time_is_a_fact_only_when_a_deadline_is_due() -> None:
    bus = waiting()
    assert at(bus, BEGIN + 2 * SECOND).tell(beat(3)) == []
    [passed] = at(bus, BEGIN + 3 * SECOND).tell(beat(4))
    assert passed == TimePassed(at_us=BEGIN + 3 * SECOND)
    assert deadlines.due(bus.state, "ready") == ["a"]
    assert at(bus, BEGIN + 9 * SECOND).tell(beat(10)) == []


def test_without_heartbeats_no_deadline_is_due() -> None:
    bus = waiting()
    assert types(at(bus, BEGIN + 4 * SECOND).tell(flavor())) == ["FlavorDefined"]
    assert deadlines.due(bus.state, "ready") == []


def test_after_a_quiet_hour_time_is_where_the_heartbeats_are() -> None:
    bus = Bus().opened()
    bus.tell(beat(1, "pods"))
    assert at(bus, BEGIN + HOUR).tell(beat(3_601, "pods")) == []
    [defined] = at(bus, BEGIN + HOUR + SECOND).tell(flavor())
    assert defined.at_us == BEGIN + HOUR + SECOND


def test_what_is_watched_is_reported_when_it_is_new() -> None:
    bus = Bus().opened()
    [expected] = bus.tell(beat(1, "pods", "jobs.batch"))
    assert expected == WatchesExpected(at_us=BEGIN, resources=("jobs.batch", "pods"))
    assert bus.tell(beat(2, "jobs.batch", "pods"), beat(3)) == []
    bus.state.dedup = Dedup()
    assert bus.tell(beat(4, "pods", "jobs.batch")) == []


def test_of_two_sessions_that_watch_other_things_the_later_one_counts() -> None:
    bus = Bus().opened()
    events = [
        *bus.tell(beat(1, "pods", session="a")),
        *bus.tell(beat(1, "jobs.batch", session="b")),
        *bus.tell(beat(2, "pods", session="a"), beat(2, "jobs.batch", session="b")),
    ]
    assert types(events) == ["WatchesExpected", "WatchesExpected"]
    assert bus.state.expected == ("jobs.batch",)


def test_time_never_runs_backwards() -> None:
    bus = Bus().opened()
    bus.tell(beat(1, "pods"))
    [defined] = at(bus, BEGIN - 60 * SECOND).tell(flavor())
    assert defined.at_us == BEGIN


def test_an_hour_that_the_counter_does_not_show_is_recorded_and_not_followed() -> None:
    bus = waiting()
    facts = at(bus, BEGIN + HOUR).tell(beat(2))
    assert facts == [ClockSkewed(at_us=BEGIN + SECOND, stored_us=BEGIN + HOUR)]
    [passed] = at(bus, BEGIN + HOUR + 2 * SECOND).tell(beat(4))
    assert passed == TimePassed(at_us=BEGIN + 3 * SECOND)


def test_a_clock_that_is_mended_is_followed_again() -> None:
    bus = waiting()
    at(bus, BEGIN + HOUR).tell(beat(2))
    [skewed] = at(bus, BEGIN + 2 * SECOND).tell(beat(3))
    assert skewed == ClockSkewed(at_us=BEGIN + 2 * SECOND, stored_us=BEGIN + 2 * SECOND)
    assert bus.state.skew_us == 0
    assert types(at(bus, BEGIN + 3 * SECOND).tell(beat(4))) == ["TimePassed"]


@pytest.mark.parametrize("late_us", [-20_000, 7_000, 90 * SECOND])
def test_a_clock_that_is_mended_leaves_no_difference(late_us: int) -> None:
    """Heartbeats come a little early or late, and the time between two is not always one second."""
    bus = waiting()
    at(bus, BEGIN + HOUR).tell(beat(2))
    [skewed] = at(bus, BEGIN + 2 * SECOND + late_us).tell(beat(3))
    assert (type(skewed), bus.state.skew_us) == (ClockSkewed, 0)
    [*_, defined] = at(bus, BEGIN + HOUR // 2).tell(beat(1_800), flavor())
    assert defined.at_us == BEGIN + HOUR // 2


def test_an_hour_that_the_counter_shows_has_passed() -> None:
    bus = waiting()
    [passed] = at(bus, BEGIN + HOUR).tell(beat(3_601))
    assert passed == TimePassed(at_us=BEGIN + HOUR)


def test_the_first_heartbeat_of_a_session_says_how_long_an_outage_lasted() -> None:
    bus = waiting()
    [passed] = at(bus, BEGIN + HOUR).tell(beat(1, "pods", session="b"))
    assert passed == TimePassed(at_us=BEGIN + HOUR)


def test_both_sessions_tell_of_one_broken_clock_once() -> None:
    bus = waiting()
    bus.tell(beat(1, "pods", session="b"))
    facts = at(bus, BEGIN + HOUR).tell(beat(2), beat(2, "pods", session="b"))
    assert types(facts) == ["ClockSkewed"]


def test_a_step_is_not_believed_before_a_heartbeat_shows_it() -> None:
    bus = waiting()
    [submitted] = at(bus, BEGIN + HOUR).tell(job())
    assert submitted.at_us == BEGIN


def test_a_heartbeat_that_comes_late_tells_nothing() -> None:
    bus = waiting()
    bus.tell(beat(5))
    assert at(bus, BEGIN + 4 * SECOND).tell(beat(4)) == []
