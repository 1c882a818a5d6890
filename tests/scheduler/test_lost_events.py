"""EVENTS that was lost as a whole is filled again from the ledger, as far back as it keeps."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest
from msgspec.structs import replace

from scheduler.events_retention import CHUNK_ENTRIES, ENVELOPE_BYTES, Window, window_begin
from scheduler.leader_state import LeaderState, open_leader_state
from scheduler.turn import run_turn
from tests.bus.memory.events import MemoryEventPublisher
from tests.bus.memory.faults import Fate
from tests.scheduler.stage import Stage, first_round, play, queue
from tidegate.contracts.chain import GENESIS
from tidegate.contracts.entry import Entry, Position
from tidegate.errors import BusUnreachableError, LedgerUnreachableError

NOW_US = 10**15
DAY_US = 24 * 3600 * 1_000_000


async def leader_of(stage: Stage) -> LeaderState:
    """Return the leader state of a ledger that has something to tell."""
    leader = await stage.leader()
    await stage.say(*first_round())
    await run_turn(leader)
    assert stage.all_is_published()
    return leader


async def until_looked(leader: LeaderState) -> None:
    """Run idle turns until it is time to look at EVENTS."""
    await asyncio.sleep(leader.deps.pace.look_s)
    await run_turn(leader)


def test_a_stream_made_anew_gets_the_whole_ledger_again_at_a_start() -> None:
    async def story(stage: Stage) -> None:
        await leader_of(stage)
        stage.bus.events.recreate()
        await stage.leader()
        assert stage.all_is_published()

    play(story)


def test_a_stream_made_anew_under_a_leader_is_filled_by_the_next_turn_that_writes() -> None:
    async def story(stage: Stage) -> None:
        leader = await leader_of(stage)
        stage.bus.events.recreate()
        await stage.say(queue("team-b", 9))
        await run_turn(leader)
        assert stage.all_is_published()
        await stage.say(queue("team-c", 10))
        await run_turn(leader)
        assert stage.all_is_published()

    play(story)


def test_what_a_stream_made_anew_was_given_unknowingly_is_not_given_again() -> None:
    """A batch for the former stream is stored in the new one if that is where it belongs there."""

    async def story(stage: Stage) -> None:
        leader = await leader_of(stage)
        stage.bus.events.recreate()
        entries = list(stage.ledger.read())
        now = (await leader.deps.event_publisher.last_published(Position()))[1]
        await leader.deps.event_publisher.publish(leader.state.ledger_id, now, entries)
        await until_looked(leader)
        assert (leader.published, leader.counts) == (leader.head.seq, now)
        assert await leader.deps.event_publisher.message_count() == leader.head.seq, (
            "nothing is there twice"
        )

    play(story)


def test_a_loss_is_noticed_where_nothing_happens() -> None:
    async def story(stage: Stage) -> None:
        leader = await leader_of(stage)
        stage.bus.events.recreate()
        await run_turn(leader)
        assert stage.published() == []
        await until_looked(leader)
        assert stage.all_is_published()

    play(story)


def test_a_stream_that_was_emptied_is_filled_behind_its_end() -> None:
    async def story(stage: Stage) -> None:
        leader = await leader_of(stage)
        end = stage.bus.events.last_seq
        stage.bus.events.purge(end)
        await until_looked(leader)
        assert stage.all_is_published()
        assert leader.counts.seq == end
        assert (await stage.leader()).counts == leader.counts

    play(story)


@pytest.mark.parametrize("looked", [False, True])
def test_a_stream_that_was_emptied_is_noticed_though_more_was_published_since(
    looked: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    async def story(stage: Stage) -> None:
        leader = await leader_of(stage)
        if looked:
            await until_looked(leader)
        stage.bus.events.purge(stage.bus.events.last_seq)
        await stage.say(queue("team-b", 9))
        written = await run_turn(leader)
        assert len(stage.published()) == written
        await until_looked(leader)
        assert stage.published()[written:] == [
            candidate_entry.payload.encode() for candidate_entry in stage.entries()
        ]

    play(story)


def test_a_stream_that_lost_a_part_is_not_filled() -> None:
    async def story(stage: Stage) -> None:
        leader = await leader_of(stage)
        await until_looked(leader)
        stage.bus.events.lose(1)
        await until_looked(leader)
        assert stage.published() == [
            candidate_entry.payload.encode() for candidate_entry in stage.entries()[1:]
        ]

    play(story)


def test_a_window_that_is_narrow_is_filled_no_further_and_once() -> None:
    async def story(stage: Stage) -> None:
        await leader_of(stage)
        newest = stage.entries()[-2:]
        narrow = Window(bytes_max=sum(map(size, newest)))
        leader = await open_leader_state(
            dataclasses.replace(stage.deps(), window=narrow), stage.lead()
        )
        stage.bus.events.purge(stage.bus.events.last_seq)
        for _ in range(3):
            await until_looked(leader)
            assert stage.published() == [
                candidate_entry.payload.encode() for candidate_entry in newest
            ]

    play(story)


def test_what_is_too_old_for_events_is_not_missed() -> None:
    async def story(stage: Stage) -> None:
        await leader_of(stage)
        young = dataclasses.replace(stage.deps(), window=Window(age_us=0))
        leader = await open_leader_state(young, stage.lead())
        counts, reads = leader.counts, len(stage.ledger.read_after)
        stage.bus.events.purge(stage.bus.events.last_seq)
        await until_looked(leader)
        assert (stage.published(), leader.counts) == ([], counts)
        assert len(stage.ledger.read_after) == reads

    play(story)


def test_a_term_that_ends_while_it_fills_is_gone_on_from() -> None:
    async def story(stage: Stage) -> None:
        leader = await leader_of(stage)
        stage.bus.events.recreate()
        deps = dataclasses.replace(stage.deps(), event_publisher=Silent(stage))
        with pytest.raises(BusUnreachableError):
            await open_leader_state(deps, stage.lead())
        heir = await open_leader_state(stage.deps(), stage.lead())
        assert stage.all_is_published()
        assert heir.counts == Position(stage.bus.events.end.incarnation, 0) != leader.counts

    play(story)


def test_a_ledger_with_a_new_name_tells_nothing_under_it_that_came_before() -> None:
    entries = [entry(1, "LedgerOpened"), entry(2), entry(3, "LedgerOpened"), entry(4), entry(5)]
    assert begun(entries, Window()) == 2


@pytest.mark.parametrize(
    ("age_us", "first"), [(DAY_US, 1), (3, 1), (2, 2), (1, 3), (0, 4)], ids=str
)
def test_a_window_holds_what_is_younger_than_its_age(age_us: int, first: int) -> None:
    entries = [replace(entry(seq), at_us=NOW_US - 3 + seq) for seq in (1, 2, 3)]
    assert begun(entries, Window(age_us=age_us)) == first - 1


@pytest.mark.parametrize("many", [CHUNK_ENTRIES - 1, CHUNK_ENTRIES, 2 * CHUNK_ENTRIES + 1])
def test_a_window_holds_as_many_bytes_as_the_stream(many: int) -> None:
    entries = [entry(seq) for seq in range(1, 3 * CHUNK_ENTRIES)]
    cq = sum(size(candidate_entry) for candidate_entry in entries[-many:])
    assert begun(entries, Window(bytes_max=cq)) == len(entries) - many
    assert begun(entries, Window(bytes_max=cq - 1)) == len(entries) - many + 1


def test_what_is_archived_away_ends_a_window() -> None:
    entries = [entry(seq) for seq in range(1, 3 * CHUNK_ENTRIES)]
    assert begun(entries, Window(), gone=500) == len(entries) - 2 * CHUNK_ENTRIES
    with pytest.raises(LedgerUnreachableError):
        begun(entries, Window(), gone=len(entries) - 1)


def test_an_empty_ledger_has_nothing_to_show() -> None:
    assert (
        window_begin(lambda after, until: iter([GENESIS][after:until]), GENESIS, Window(), 0) == 0
    )


def entry(seq: int, kind: str = "TimePassed") -> Entry:
    return Entry(0, seq, 1, 1, NOW_US, "local", kind, f"subject.{seq}", "{}" * (seq % 7), b"")


def size(actual_entry: Entry) -> int:
    return len(actual_entry.payload) + len(actual_entry.subject) + ENVELOPE_BYTES


def begun(entries: list[Entry], window: Window, gone: int = 0) -> int:
    """Return behind which seq a window begins; up to ``gone`` entries cannot be read."""

    def read(after: int, until: int) -> list[Entry]:
        if after < gone:
            raise LedgerUnreachableError("it was archived, and the file is not there")
        return entries[after:until]

    return window_begin(lambda after, until: iter(read(after, until)), entries[-1], window, NOW_US)


class Silent(MemoryEventPublisher):
    """An outbox whose answers to what is published are lost."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.bus.events, Fate(stage.bus.fate.random))

    async def publish(self, ledger_id: str, counts: Position, entries: object) -> None:
        del ledger_id, counts, entries
        raise BusUnreachableError("no answer")
