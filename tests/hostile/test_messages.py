"""Bytes on the bus and rows of a ledger, altered anywhere: read, refused or passed over."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from store.access.engine import open_engine
from store.reporting.projection import rebuild as rebuild_reports
from store.schema import migrate
from tests.core.telling import flavor, job
from tests.hostile.drawing import TEXTS, VALUES, Path, places, put
from tests.parts.drawn import drawn
from tests.replay.world import World
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.codec import decode, decode_observation, encode
from tidegate.contracts.entry import Entry, Message, Position
from tidegate.contracts.facts import ObservationRefused
from tidegate.core.accept import accept
from tidegate.core.decide import decide
from tidegate.core.folding import snapshot
from tidegate.core.state.state import State
from tidegate.errors import TidegateError, UndecodableError
from tidegate.jobs.templates.paths import value_at
from tidegate.replay.names import resolve_workloads
from tidegate.replay.rebuild import rebuild
from tidegate.replay.shadow import compare
from tidegate.replay.simulator.scenario import recorded_scenario
from tidegate.replay.simulator.whatif import recorded_result
from tidegate.replay.story.why import story_of
from tidegate.replay.turns import play
from tidegate.replay.verify import audit_ledger

DEEP = b"[" * 100_000
NONSENSE = (
    b"",
    b"\xff",
    b"null",
    DEEP,
    b'{"type":"\xff"}',
    b'{"type":"TimePassed/1","at_us":1,"x":' + DEEP,
    b'{"type":"TimePassed/1","at_us":1,"x":' + DEEP + b"]" * 100_000 + b"}",
    b'{"type":"JobObserved/1","x":' + DEEP + b"]" * 100_000 + b"}",
    b'{"type":"TimePassed/1","at_us":' + b"9" * 5_000 + b"}",
)


@pytest.mark.parametrize("read", [decode, decode_observation])
@pytest.mark.parametrize("body", NONSENSE, ids=range(len(NONSENSE)))
def test_bytes_that_are_no_message_are_undecodable(
    read: Callable[[bytes], object], body: bytes
) -> None:
    with pytest.raises(UndecodableError):
        read(body)


@functools.cache
def world() -> World:
    """Return a world in which one job runs, one has ended, and one waits."""
    actual_world = World().open()
    for queue, cpus in (("a", 3), ("c", 3), ("a", 9)):
        actual_world.turn(actual_world.wait(1), actual_world.submit(queue, cpus, 0))
        actual_world.all_obey()
    actual_world.turn(actual_world.finish(min(actual_world.jobs)))
    return actual_world


def observations() -> list[bytes]:
    """Return what ingest says of a job, a queue and a flavor."""
    actual_world = world()
    return [
        encode(observation)
        for observation in (job(version=900), actual_world.queue("a"), flavor("f", version=901))
    ]


@functools.cache
def every_place(body: bytes) -> tuple[Path, ...]:
    return tuple(at for at in places(msgspec.json.decode(body)) if at not in ((), ("type",)))


@st.composite
def altered(draw: st.DrawFn, bodies: tuple[bytes, ...]) -> tuple[int, bytes]:
    """Draw one of these JSON objects, by its place, with one or two values altered.

    Most are of the type that was there: else few would be read at all.
    """
    number = draw(st.integers(0, len(bodies) - 1))
    document: Any = msgspec.json.decode(bodies[number])
    for at in draw(st.lists(st.sampled_from(every_place(bodies[number])), min_size=1, max_size=2)):
        there = value_at(document, at)
        put(document, at, draw(st.one_of(VALUES, *[ALIKE.get(type(there), VALUES)] * 9)))
    return number, msgspec.json.encode(document)


ALIKE: dict[type, st.SearchStrategy[Any]] = {
    str: TEXTS | st.sampled_from(("team/job-uid-j105", "a", "b", "f", "cpu", "main", "uid-j106")),
    int: st.sampled_from((0, 1, -1, 2, 2**31, 2**62, -(2**62))),
    bool: st.booleans(),
    list: st.just([]),
    dict: st.just({}),
}
"""Values by their type; names are those that the history has."""


@drawn(60)
@given(altered(tuple(observations())))
def test_any_observation_is_accepted_or_refused(drawn_as: tuple[int, bytes]) -> None:
    state = snapshot.decode(snapshot.encode(world().bus.state))
    message = Message(Position(1, 1), state.now_us, "tidegate.local.observed.x.team.x", drawn_as[1])
    facts, at = accept(state, Position(1, 0), [message])
    decide(state)
    refused = [fact for fact in facts if isinstance(fact, ObservationRefused)]
    assert at.seq == 1
    assert all(len(event.error) < 2_000 for event in refused)


def payloads() -> tuple[bytes, ...]:
    return tuple(entry.payload.encode() for entry in world().entries)


def with_altered(number: int, body: bytes) -> list[Entry]:
    """Return the history with another event in one place, sealed as if it had been decided."""
    events = [decode(entry.payload) for entry in world().entries]
    events[number] = decode(body)
    return list(seal(GENESIS, 1, "local", events))


def exhaust(values: Iterable[object]) -> None:
    for _ in values:
        pass


READERS: dict[str, Callable[[list[Entry]], object]] = {
    "rebuild": rebuild,
    "verify": audit_ledger,
    "play": lambda entries: exhaust(play(entries, State())),
    "names": lambda entries: resolve_workloads(entries, "job"),
    "why": lambda entries: [story_of(entries, key) for key in world().bus.state.workloads],
    "shadow": compare,
    "what-if": recorded_result,
    "scenario": recorded_scenario,
}


@pytest.mark.parametrize("reader", READERS)
@drawn(15)
@given(row=altered(payloads()))
def test_any_row_is_read_or_refused(reader: str, row: tuple[int, bytes]) -> None:
    try:
        READERS[reader](with_altered(*row))
    except TidegateError:
        return


@functools.cache
def engine() -> Engine:
    made = open_engine("sqlite://")
    migrate.upgrade(made)
    return made


@drawn(15)
@given(row=altered(payloads()))
def test_reports_are_made_again_over_any_row(row: tuple[int, bytes]) -> None:
    with engine().connect() as conn:
        try:
            rebuild_reports(conn, 0, [with_altered(*row)])
        except TidegateError:
            return
        finally:
            conn.rollback()
