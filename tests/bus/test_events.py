"""EVENTS holds every entry once, in order, behind a fence; a subscriber finds its place by seq."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from tests.bus.worlds import NAMES, World, entries, said
from tidegate.bus.ports import EventFeed
from tidegate.contracts.entry import Position, Published
from tidegate.errors import PublishRefusedError

pytestmark = pytest.mark.timeout(180)
BEGIN = Position()


async def follow(feed: EventFeed, after: int | None, count: int) -> list[Published]:
    messages = list[Published]()
    async with aclosing(feed.follow(after)) as following:  # type: ignore[type-var]  # generators
        async for published in following:
            messages.append(published)
            if len(messages) == count:
                break
    return messages


async def test_before_the_first_entry_nothing_is_published(world: World) -> None:
    last, counts = await world.bus.event_publisher().last_published(BEGIN)
    assert (last, counts.seq) == (0, 0)
    assert counts.incarnation > 0
    assert await world.bus.event_feed().newest() == ("", 0)


async def test_what_is_published_is_followed_with_its_seq_and_ledger(world: World) -> None:
    publisher, feed = world.bus.event_publisher(), world.bus.event_feed()
    _, counts = await publisher.last_published(BEGIN)
    await publisher.publish("led", counts, entries(1, 2))
    await publisher.publish("led", counts, entries(3, 5))
    assert await publisher.last_published(counts) == (5, counts)
    assert await feed.newest() == ("led", 5)
    messages = await follow(feed, 0, 5)
    assert [message.seq for message in messages] == [1, 2, 3, 4, 5]
    assert {message.ledger_id for message in messages} == {"led"}
    assert [message.payload for message in messages] == [said(n) for n in range(1, 6)]
    assert [message.seq for message in await follow(feed, 3, 2)] == [4, 5]


async def test_more_than_one_batch_holds_is_published_as_well(world: World) -> None:
    publisher = world.bus.event_publisher()
    _, counts = await publisher.last_published(BEGIN)
    await publisher.publish("led", counts, entries(1, 2_345))
    assert (await publisher.last_published(counts))[0] == 2_345
    assert [message.seq for message in await follow(world.bus.event_feed(), 2_340, 5)] == [
        *range(2_341, 2_346)
    ]


async def test_it_is_reported_how_many_entries_are_still_held(world: World) -> None:
    publisher = world.bus.event_publisher()
    _, counts = await publisher.last_published(BEGIN)
    assert await publisher.message_count() == 0
    await publisher.publish("led", counts, entries(1, 4))
    await world.lose(NAMES.events, 1)
    assert await publisher.message_count() == 3
    await world.empty(NAMES.events)
    assert await publisher.message_count() == 0
    assert await publisher.last_published(counts) == (4, counts)


async def test_what_was_purged_can_be_published_again_at_once(world: World) -> None:
    publisher = world.bus.event_publisher()
    _, counts = await publisher.last_published(BEGIN)
    await publisher.publish("led", counts, entries(1, 4))
    async with aclosing(world.bus.event_feed().follow(0)) as following:  # type: ignore[type-var]
        assert [(await anext(following)).seq for _ in range(4)] == [1, 2, 3, 4]
        await world.empty(NAMES.events)
        moved = Position(counts.incarnation, 4 - 1)
        await publisher.publish("led", moved, entries(2, 5))
        assert (await anext(following)).seq == 5
    assert await publisher.last_published(moved) == (5, moved)
    assert [message.seq for message in await follow(world.bus.event_feed(), 0, 4)] == [2, 3, 4, 5]
    assert [message.seq for message in await follow(world.bus.event_feed(), 3, 2)] == [4, 5]


async def test_nothing_to_publish_is_no_fault(world: World) -> None:
    publisher = world.bus.event_publisher()
    _, counts = await publisher.last_published(BEGIN)
    await publisher.publish("led", counts, [])
    assert await world.kept(NAMES.events) == 0


@pytest.mark.parametrize("first", [1, 2])
async def test_entries_that_are_there_already_are_published_once(world: World, first: int) -> None:
    publisher = world.bus.event_publisher()
    _, counts = await publisher.last_published(BEGIN)
    await publisher.publish("led", counts, entries(1, 2))
    await publisher.publish("led", counts, entries(first, 5))
    assert await world.kept(NAMES.events) == 5
    assert [message.seq for message in await follow(world.bus.event_feed(), 0, 5)] == [
        1,
        2,
        3,
        4,
        5,
    ]


async def test_entries_behind_another_writers_are_refused(world: World) -> None:
    publisher = world.bus.event_publisher()
    _, counts = await publisher.last_published(BEGIN)
    await publisher.publish("other", counts, entries(1, 2))
    with pytest.raises(PublishRefusedError):
        await publisher.publish("led", counts, entries(1, 5))
    assert await world.kept(NAMES.events) == 2


@pytest.mark.parametrize("first", [4, 9])
async def test_entries_that_do_not_follow_are_refused_together(world: World, first: int) -> None:
    publisher = world.bus.event_publisher()
    _, counts = await publisher.last_published(BEGIN)
    await publisher.publish("led", counts, entries(1, 2))
    with pytest.raises(PublishRefusedError):
        await publisher.publish("led", counts, entries(first, first + 3))
    assert (await publisher.last_published(counts))[0] == 2
    await publisher.publish("led", counts, entries(3, 3))


async def test_a_zombie_that_lags_is_refused(world: World) -> None:
    ours, zombie = world.bus.event_publisher(), world.bus.event_publisher()
    _, counts = await ours.last_published(BEGIN)
    await ours.publish("led", counts, entries(1, 3))
    with pytest.raises(PublishRefusedError) as caught:
        await zombie.publish("other", counts, entries(1, 1))
    assert caught.value.expected == 0
    assert await world.bus.event_feed().newest() == ("led", 3)


async def test_a_stream_made_anew_counts_from_where_the_ledger_is(world: World) -> None:
    publisher = world.bus.event_publisher()
    _, counts = await publisher.last_published(BEGIN)
    await publisher.publish("led", counts, entries(1, 3))
    await world.recreate(NAMES.events)
    last, anew = await publisher.last_published(counts)
    assert (last, anew.seq) == (0, 0)
    assert anew.incarnation > counts.incarnation
    moved = Position(anew.incarnation, -3)
    await publisher.publish("led", moved, entries(4, 6))
    assert await publisher.last_published(moved) == (6, moved)
    assert [message.seq for message in await follow(world.bus.event_feed(), 4, 2)] == [5, 6]


async def test_what_was_lost_is_seen_as_a_hole(world: World) -> None:
    publisher = world.bus.event_publisher()
    _, counts = await publisher.last_published(BEGIN)
    await publisher.publish("led", counts, entries(1, 4))
    await world.lose(NAMES.events, 3)
    assert [message.seq for message in await follow(world.bus.event_feed(), 1, 2)] == [2, 4]
    await world.lose(NAMES.events, 4)
    assert (await publisher.last_published(counts))[0] == 4


async def test_a_follower_goes_on_in_a_stream_made_anew(world: World) -> None:
    publisher = world.bus.event_publisher()
    _, counts = await publisher.last_published(BEGIN)
    await publisher.publish("led", counts, entries(1, 2))
    async with aclosing(world.bus.event_feed().follow(0)) as following:  # type: ignore[type-var]
        assert [(await anext(following)).seq for _ in range(2)] == [1, 2]
        await world.recreate(NAMES.events)
        _, anew = await publisher.last_published(counts)
        await publisher.publish("new", anew, entries(1, 1))
        message = await anext(following)
    assert (message.ledger_id, message.seq) == ("new", 1)


async def test_a_follower_gets_once_what_a_stream_made_anew_holds_again(world: World) -> None:
    publisher = world.bus.event_publisher()
    _, counts = await publisher.last_published(BEGIN)
    await publisher.publish("led", counts, entries(1, 3))
    async with aclosing(world.bus.event_feed().follow(0)) as following:  # type: ignore[type-var]
        assert [(await anext(following)).seq for _ in range(3)] == [1, 2, 3]
        await world.recreate(NAMES.events)
        _, anew = await publisher.last_published(counts)
        await publisher.publish("led", anew, entries(1, 4))
        assert (await anext(following)).seq == 4
