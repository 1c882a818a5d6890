"""A turn commits before it publishes and publishes before it forgets; a failure repeats nothing."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest
from msgspec.structs import replace

from scheduler.leader_state import LeaderState
from scheduler.turn import run_turn
from tests.scheduler.stage import Stage, first_round, play, queue
from tidegate.contracts.entry import Position
from tidegate.errors import BusUnreachableError, CommitUnknownError, LedgerUnreachableError

NO_ROOM = LedgerUnreachableError("no room on the disk")


def resyncs(stage: Stage) -> int:
    """Return how often ingest was asked to tell everything again, since the ledger began."""
    return stage.bus.resyncs.count - 1


async def all_turns(leader: LeaderState, stage: Stage) -> None:
    """Run turns until everything that was reported is committed."""
    while leader.committed.seq < stage.bus.observations.end.seq:
        await run_turn(leader)


def test_observations_become_entries_in_one_turn_and_are_forgotten() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        await stage.say(*first_round())
        written = await run_turn(leader)
        assert written == len(stage.entries()) - 2
        assert {entry.turn for entry in stage.entries()[2:]} == {2}
        assert "ClusterQueueDefined" in stage.types()
        assert stage.all_is_published()
        assert stage.bus.observations.count > 0
        await run_turn(leader)  # nothing is left to read
        assert stage.bus.observations.count == 0

    play(story)


@pytest.mark.parametrize("bound", [{"forget_messages": 6}, {"forget_bytes": 800}])
def test_the_bus_forgets_many_observations_at_once(bound: dict[str, int]) -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        leader.deps = dataclasses.replace(leader.deps, pace=replace(leader.deps.pace, **bound))
        counts = list[int]()
        for number in range(4):
            await stage.say(*first_round() if number == 0 else [queue("team-a", number)] * 3)
            await run_turn(leader)
            counts.append(stage.bus.observations.count)
        assert counts[0] > 0
        assert counts[-1] < stage.bus.observations.end.seq

    play(story)


def test_a_bus_that_holds_nothing_more_is_not_asked_to_forget_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(stage: Stage) -> None:
        async def refuse(position: Position) -> None:
            raise AssertionError(f"asked to forget up to {position} again")

        leader = await stage.leader()
        await stage.say(*first_round())
        await run_turn(leader)
        await run_turn(leader)
        assert stage.bus.observations.count == 0
        monkeypatch.setattr(leader.deps.observation_reader, "purge_through", refuse)
        assert await run_turn(leader) == 0

    play(story)


def test_a_position_without_news_is_written_after_a_second_and_then_forgotten() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        await stage.say(*first_round())
        await run_turn(leader)
        await stage.say(queue("team-a", 5))
        assert await run_turn(leader) == 0
        assert leader.committed != stage.bus.observations.end
        await asyncio.sleep(1)
        await stage.say(queue("team-a", 5))
        assert await run_turn(leader) == 0
        await run_turn(leader)
        assert stage.bus.observations.count == 0
        assert stage.lead().observations == stage.bus.observations.end

    play(story)


def test_a_full_bus_that_holds_only_what_is_known_is_emptied() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        await stage.say(*first_round())
        task = asyncio.ensure_future(stage.say(*120 * [queue("team-a", 5)]))
        while not task.done():
            await run_turn(leader)
        assert stage.types().count("ClusterQueueDefined") == 1

    play(story)


def test_no_observations_write_nothing() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        assert await run_turn(leader) == 0
        assert len(stage.entries()) == 2

    play(story)


def test_a_hole_is_recorded_and_all_is_asked_for_again() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        await stage.say(*first_round())
        await run_turn(leader)
        await stage.say(queue("team-b", 9), queue("team-c", 10))
        stage.bus.observations.lose(5)
        await all_turns(leader, stage)
        assert "GapObserved" in stage.types()
        assert [kept.payload for kept in stage.bus.resyncs.after(0)] == [
            b"nothing has been read yet",
            b"observations 5 to 5 are missing",
        ]

    play(story)


def test_a_new_ledger_takes_no_list_for_its_first_that_a_lost_one_may_have_read() -> None:
    async def story(stage: Stage) -> None:
        await stage.say(queue("team-b", 9), *first_round())
        await stage.bus.observation_reader().purge_through(
            Position(stage.bus.observations.end.incarnation, 1)
        )
        leader = await stage.leader()
        assert leader.committed == stage.bus.observations.end, "in one commit with its name"
        await run_turn(leader)
        assert "SyncCompleted" not in stage.types()
        assert stage.bus.observations.count == 0, "there is room for the answer"
        await stage.say(*first_round())
        await run_turn(leader)
        assert stage.types().count("SyncCompleted") == 1
        assert "GapObserved" not in stage.types()

    play(story)


def test_a_stream_made_anew_is_recorded_and_read_from_its_beginning() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        await stage.say(*first_round())
        await run_turn(leader)
        stage.bus.observations.recreate()
        await stage.say(queue("team-b", 9))
        await run_turn(leader)
        assert stage.types().count("StreamReplaced") == 1
        assert stage.types().count("ClusterQueueDefined") == 2
        assert resyncs(stage) == 1
        await run_turn(leader)
        assert stage.bus.observations.count == 0

    play(story)


def test_a_loss_that_could_not_be_reported_is_met_again() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        await stage.say(*first_round())
        await run_turn(leader)
        await stage.say(queue("team-b", 9), queue("team-c", 10))
        stage.bus.observations.lose(5)
        stage.ledger.fails_before.append(NO_ROOM)
        with pytest.raises(LedgerUnreachableError):
            await run_turn(leader)
        await all_turns(await stage.leader(), stage)
        assert stage.types().count("GapObserved") == 1
        assert [kept.payload for kept in stage.bus.resyncs.after(0)] == [
            b"nothing has been read yet",
            *(b"observations 5 to 5 are missing", b"observations 5 to 5 are missing"),
        ]

    play(story)


def test_what_cannot_be_read_is_recorded_and_the_house_goes_on() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        await stage.say(b"{", *first_round())
        await run_turn(leader)
        assert {"ObservationRefused", "ClusterQueueDefined"} <= set(stage.types())

    play(story)


def test_a_turn_that_did_not_commit_leaves_no_trace_and_an_unsound_desk() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        await stage.say(*first_round())
        stage.ledger.fails_before.append(NO_ROOM)
        with pytest.raises(LedgerUnreachableError):
            await run_turn(leader)
        assert not leader.sound
        assert (len(stage.entries()), len(stage.published())) == (2, 2)
        assert stage.bus.observations.count == 4
        await run_turn(await stage.leader())
        assert stage.all_is_published()

    play(story)


def test_a_commit_whose_answer_was_lost_is_not_written_twice() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        await stage.say(*first_round())
        stage.ledger.fails_after.append(CommitUnknownError("the connection broke"))
        with pytest.raises(CommitUnknownError):
            await run_turn(leader)
        await run_turn(await stage.leader())
        assert stage.types().count("ClusterQueueDefined") == 1
        assert stage.all_is_published()

    play(story)


@pytest.mark.parametrize("seed", range(4))
def test_a_batch_whose_answer_was_lost_is_published_once(seed: int) -> None:
    async def story(stage: Stage) -> None:
        stage.bus.fate.random.seed(seed)
        leader = await stage.leader()
        await stage.say(*first_round())
        stage.bus.fate.once("reply_lost")
        await run_turn(leader)
        assert leader.sound
        assert stage.all_is_published()

    play(story)


def test_a_batch_that_did_not_arrive_is_published_by_a_later_turn() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        await stage.say(*first_round())
        for _ in range(2):  # the batch, and the question how far EVENTS is
            stage.ledger.behind_commit.append(lambda: stage.bus.fate.once("unreachable"))
        with pytest.raises(BusUnreachableError):
            await run_turn(leader)
        assert leader.sound
        assert not stage.all_is_published()
        await run_turn(leader)
        assert stage.all_is_published()

    play(story)


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_a_bus_that_does_not_answer_leaves_a_sound_desk_outside_the_commit(calls: int) -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        await stage.say(*first_round())
        for _ in range(calls):
            stage.bus.fate.once("unreachable")
            with pytest.raises(BusUnreachableError):
                await run_turn(leader)
            assert leader.sound
        await run_turn(leader)
        assert stage.all_is_published()

    play(story)
