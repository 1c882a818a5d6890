"""What is told is read by position, in order, as often as asked, until it is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from tests.bus.worlds import NAMES, OBSERVED, ROOM, World, read_all, tell, texts
from tidegate.bus.ports import ObservationReader
from tidegate.contracts.entry import Position

pytestmark = pytest.mark.timeout(180)


async def test_observations_are_read_in_order_with_their_place_and_time(world: World) -> None:
    await tell(world.bus.observation_publisher(), "a", "b", "c")
    read = await read_all(world.bus.observation_reader(), Position(), 3)
    assert texts(read) == ["a", "b", "c"]
    assert [message.at.seq for message in read] == [1, 2, 3]
    assert {message.subject for message in read} == {OBSERVED}
    assert len({message.at.incarnation for message in read}) == 1
    assert 0 < read[0].at.incarnation <= read[0].at_us <= read[1].at_us <= read[2].at_us


async def test_reading_goes_on_behind_any_position_and_takes_nothing_away(world: World) -> None:
    reader = world.bus.observation_reader()
    await tell(world.bus.observation_publisher(), "a", "b", "c")
    first = await read_all(reader, Position(), 3)
    assert texts(await read_all(reader, first[0].at, 2)) == ["b", "c"]
    assert texts(await read_all(reader, Position(), 3)) == ["a", "b", "c"]
    assert texts(await read_all(world.bus.observation_reader(), first[1].at, 1)) == ["c"]


async def test_no_more_is_read_at_once_than_asked_for(world: World) -> None:
    await tell(world.bus.observation_publisher(), "a", "b", "c")
    reader = world.bus.observation_reader()
    first = await reader.pull(Position(), count_max=2, wait_s=5)
    assert len(first) <= 2
    assert texts(await read_all(reader, first[-1].at, 3 - len(first)))[-1] == "c"


async def test_waiting_ends_with_the_next_message_or_in_time(world: World) -> None:
    reader, port = world.bus.observation_reader(), world.bus.observation_publisher()
    assert await reader.pull(Position(), count_max=10, wait_s=0.05) == []
    waiting = asyncio.create_task(read_all(reader, Position(), 1))
    await tell(port, "late")
    assert texts(await waiting) == ["late"]


async def test_a_retry_under_one_id_is_stored_once(world: World) -> None:
    port = world.bus.observation_publisher()
    await tell(port, "a", "a", "b")
    assert texts(await read_all(world.bus.observation_reader(), Position(), 2)) == ["a", "b"]
    assert await world.kept(NAMES.observations) == 2


async def test_calls_at_one_time_are_stored_in_the_order_of_the_calls(world: World) -> None:
    port = world.bus.observation_publisher()
    names = [f"{number}" for number in range(ROOM)]
    await asyncio.gather(*(tell(port, text) for text in names))
    assert texts(await read_all(world.bus.observation_reader(), Position(), ROOM)) == names


async def test_retries_among_calls_at_one_time_are_stored_once(world: World) -> None:
    port = world.bus.observation_publisher()
    await tell(port, "a", "b")
    await asyncio.gather(*(tell(port, text) for text in "abcd"))
    assert texts(await read_all(world.bus.observation_reader(), Position(), 4)) == [
        "a",
        "b",
        "c",
        "d",
    ]


async def test_what_comes_between_two_retries_is_stored_too(world: World) -> None:
    """The answer to the last of a chain, a duplicate, says nothing of the one before it."""
    outlet = world.bus.observation_publisher()
    await tell(outlet, "a", "c")
    await asyncio.gather(*(tell(outlet, text) for text in "abc"))
    assert texts(await read_all(world.bus.observation_reader(), Position(), 3)) == ["a", "c", "b"]


async def test_a_full_stream_makes_the_teller_wait_until_something_is_forgotten(
    world: World,
) -> None:
    port, reader = world.bus.observation_publisher(), world.bus.observation_reader()
    names = [f"{number}" for number in range(2 * ROOM)]
    telling = asyncio.gather(*(tell(port, text) for text in names))
    at, heard = Position(), list[str]()
    while len(heard) < len(names):
        read = await read_all(reader, at, 1)
        at = read[-1].at
        heard += texts(read)
        assert await world.kept(NAMES.observations) <= ROOM
        await reader.purge_through(at)
    await telling
    assert heard == names


async def test_what_is_forgotten_leaves_a_hole_before_the_rest(world: World) -> None:
    reader = world.bus.observation_reader()
    await tell(world.bus.observation_publisher(), "a", "b", "c")
    messages = await read_all(reader, Position(), 3)
    await reader.purge_through(messages[1].at)
    await reader.purge_through(messages[1].at)
    assert [message.at.seq for message in await read_all(reader, Position(), 1)] == [3]
    await tell(world.bus.observation_publisher(), "d")
    assert texts(await read_all(reader, messages[2].at, 1)) == ["d"]


async def test_a_reader_that_has_read_nothing_begins_at_the_end(world: World) -> None:
    reader = world.bus.observation_reader()
    assert await reader.start_position() == Position()
    await tell(world.bus.observation_publisher(), "a", "b", "c")
    messages = await read_all(reader, Position(), 3)
    assert await reader.start_position() == messages[-1].at
    await reader.purge_through(messages[-1].at)
    assert await reader.start_position() == messages[-1].at


async def test_a_lost_message_is_seen_as_a_hole_in_the_sequence(world: World) -> None:
    await tell(world.bus.observation_publisher(), "a", "b", "c")
    await world.lose(NAMES.observations, 2)
    read = await read_all(world.bus.observation_reader(), Position(), 2)
    assert [message.at.seq for message in read] == [1, 3]


async def test_a_stream_made_anew_is_read_from_its_beginning(world: World) -> None:
    reader, port = world.bus.observation_reader(), world.bus.observation_publisher()
    await tell(port, "a", "b", "c")
    old = (await read_all(reader, Position(), 3))[-1].at
    await world.recreate(NAMES.observations)
    await tell(port, "d")
    (new,) = await read_all(reader, old, 1)
    assert (new.payload, new.at.seq) == (b"d", 1)
    assert new.at.incarnation > old.incarnation


async def test_an_old_position_forgets_nothing_of_a_new_stream(world: World) -> None:
    reader, port = world.bus.observation_reader(), world.bus.observation_publisher()
    await tell(port, "a", "b", "c")
    old = (await read_all(reader, Position(), 3))[-1].at
    await world.recreate(NAMES.observations)
    await tell(port, "d", "e", "f", "g")  # more than the position has behind it
    await world.bus.observation_reader().purge_through(
        old
    )  # one that has not looked at the new stream
    await reader.purge_through(old)
    assert await world.kept(NAMES.observations) == 4
    assert texts(await read_all(reader, old, 4)) == ["d", "e", "f", "g"]


async def test_a_position_beyond_the_end_forgets_nothing(world: World) -> None:
    reader, port = world.bus.observation_reader(), world.bus.observation_publisher()
    await tell(port, "a", "b")
    at = (await read_all(reader, Position(), 2))[-1].at
    await reader.purge_through(Position(at.incarnation, at.seq + 5))
    await tell(port, "c")
    (behind,) = await read_all(reader, at, 1)
    assert (behind.payload, behind.at.seq) == (b"c", at.seq + 1)


async def test_a_resync_is_heard_by_every_teller_and_only_once(world: World) -> None:
    reader = world.bus.observation_reader()
    await reader.request_resync("before any publisher listened")
    listeners = [world.bus.observation_publisher().resync_requests() for _ in range(2)]
    hearing = [asyncio.ensure_future(anext(listener)) for listener in listeners]
    await _ask_until(reader, hearing, "a hole")
    assert [await heard for heard in hearing] == ["a hole", "a hole"]
    await reader.request_resync("another")
    while (text := await anext(listeners[0])) != "another":
        assert text == "a hole"
    await _end(listeners)


async def _ask_until(
    reader: ObservationReader, hearing: Sequence[asyncio.Future[str]], reason: str
) -> None:
    """Ask again until all have heard: a listener begins at an unknown moment."""
    while not all(heard.done() for heard in hearing):
        await reader.request_resync(reason)
        await asyncio.wait(hearing, timeout=0.1)


async def _end(listeners: list[AsyncIterator[str]]) -> None:
    for listener in listeners:
        await listener.aclose()  # type: ignore[attr-defined]  # generators, which the port need not say
