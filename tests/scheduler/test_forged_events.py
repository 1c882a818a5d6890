"""What another puts into EVENTS is published over, and is no lost tail of the ledger."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from scheduler.binding import is_tail
from scheduler.leader_state import LeaderState, open_leader_state
from scheduler.turn import run_turn
from tests.bus.memory.stream import New
from tests.scheduler.stage import Stage, first_round, play, queue
from tidegate.bus.headers import MESSAGE_ID, event_headers
from tidegate.contracts.chain import seal
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import TimePassed
from tidegate.errors import LostTailError


def put(stage: Stage, leader: LeaderState, rows: Sequence[Entry], name: str = "forged") -> None:
    """Store messages that look as if the scheduler had published them."""
    for row in rows:
        headers = {**event_headers("led", row, leader.counts), MESSAGE_ID: f"{name}/{row.seq}"}
        stage.bus.events.store([New(name, row.subject, row.payload.encode(), headers)])


def lies(leader: LeaderState) -> list[Entry]:
    true = next(iter(seal(leader.head, leader.epoch, "local", [TimePassed(at_us=1)])))
    return [replace(true, hash=bytes(32)), replace(true, seq=true.seq + 40), replace(true, seq=1)]


async def followed(stage: Stage, count: int) -> list[bytes]:
    chunks = list[bytes]()
    async for message in stage.bus.event_feed().follow(0):
        chunks.append(message.payload)
        if len(chunks) == count:
            break
    return chunks


async def all_is_published(stage: Stage) -> bool:
    wanted = [entry.payload.encode() for entry in stage.entries()]
    return await followed(stage, len(wanted)) == wanted


async def led(stage: Stage) -> LeaderState:
    leader = await stage.leader()
    await stage.say(*first_round())
    await run_turn(leader)
    return leader


def test_a_leader_publishes_behind_what_is_forged() -> None:
    async def story(stage: Stage) -> None:
        leader = await led(stage)
        put(stage, leader, lies(leader))
        await stage.say(queue("team-b", 9))
        await run_turn(leader)
        assert leader.counts.seq == 3
        assert stage.bus.events.count == len(stage.entries()) + 3
        assert await all_is_published(stage)

    play(story)


def test_what_was_committed_and_not_published_is_no_less_published() -> None:
    async def story(stage: Stage) -> None:
        leader = await led(stage)
        published = stage.bus.events.last_seq
        await stage.say(queue("team-b", 9), queue("team-c", 10))
        await run_turn(leader)
        stage.bus.events.roll_back(published)
        put(stage, leader, lies(leader)[:1])
        await open_leader_state(stage.deps(), stage.lead())
        assert await all_is_published(stage)

    play(story)


def test_what_is_forged_between_two_terms_keeps_no_replica_from_leading() -> None:
    async def story(stage: Stage) -> None:
        leader = await led(stage)
        put(stage, leader, lies(leader))
        successor = await stage.leader("two")
        await stage.say(queue("team-b", 9))
        await run_turn(successor)
        assert await all_is_published(stage)
        assert (await stage.leader("three")).counts == successor.counts

    play(story)


def test_a_lie_that_follows_from_the_ledger_is_published_over_by_the_leader() -> None:
    async def story(stage: Stage) -> None:
        leader = await led(stage)
        clever = seal(leader.head, leader.epoch, "local", [TimePassed(at_us=1)])
        put(stage, leader, clever)
        await stage.say(queue("team-b", 9))
        await run_turn(leader)
        [counter] = leader.deps.status.forged.collect()
        assert counter.samples[0].value == 1
        assert stage.published()[-1] == stage.entries()[-1].payload.encode()

    play(story)


@pytest.mark.parametrize("lie", [False, True])
def test_a_tail_that_follows_from_the_ledger_is_a_lost_one(
    lie: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    async def story(stage: Stage) -> None:
        leader = await led(stage)
        put(stage, leader, lies(leader)[: int(lie)])
        tail = seal(leader.head, leader.epoch, "local", [TimePassed(at_us=1)])
        put(stage, leader, tail, "true")
        with pytest.raises(LostTailError):
            await open_leader_state(stage.deps(), stage.lead("two"))

    play(story)


def test_a_tail_whose_beginning_is_no_longer_held_is_a_lost_one() -> None:
    async def story(stage: Stage) -> None:
        leader = await led(stage)
        tail = seal(leader.head, leader.epoch, "local", [TimePassed(at_us=n) for n in (1, 2)])
        put(stage, leader, tail)
        stage.bus.events.lose(stage.bus.events.last_seq - 1)
        head, last = leader.head, leader.head.seq + 2
        assert await is_tail(leader.deps, head, last, leader.counts, "led")

    play(story)
