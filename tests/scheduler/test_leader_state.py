"""A term begins where the ledger ends, whatever EVENTS holds of it."""

from __future__ import annotations

import dataclasses

import pytest

from scheduler.leader_state import open_leader_state, publish
from scheduler.turn import run_first_turn, run_turn
from tests.bus.memory.all_ports import EPOCH_US
from tests.scheduler.stage import Stage, first_round, ledger, play, queue
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Position
from tidegate.contracts.facts import LedgerOpened, TimePassed
from tidegate.errors import FencedError, LostTailError
from tidegate.model.policy import Policy
from tidegate.replay.rebuild import rebuild

OTHER = Policy(manage_jobs_without_queue_name=True)


def test_a_ledger_opens_with_its_name_and_the_policy_at_the_buss_time() -> None:
    async def story(stage: Stage) -> None:
        await stage.leader()
        assert stage.types() == ["LedgerOpened", "PolicyConfigured"]
        opened = decode(stage.entries()[0].payload)
        assert isinstance(opened, LedgerOpened)
        assert (opened.ledger_id, opened.cluster) == ("led", "local")
        assert [entry.at_us for entry in stage.entries()] == [EPOCH_US, EPOCH_US]
        assert stage.all_is_published()

    play(story)


def test_a_term_asks_for_a_full_resync_until_one_has_read_something() -> None:
    async def story(stage: Stage) -> None:
        await stage.leader()
        leader = await stage.leader()
        assert stage.bus.resyncs.count == 2
        await stage.say(*first_round())
        await run_turn(leader)
        await stage.leader()
        assert stage.bus.resyncs.count == 2

    play(story)


def test_another_policy_is_written_once_where_it_begins() -> None:
    async def story(stage: Stage) -> None:
        for policy in (None, None, OTHER, OTHER, None):
            await stage.leader(policy=policy)
        assert stage.types() == ["LedgerOpened", *3 * ["PolicyConfigured"]]
        assert stage.all_is_published()

    play(story)


def test_a_draft_rebuilt_is_the_draft_that_was_left() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        await stage.say(*first_round(), queue("team-b", 9))
        await run_turn(leader)
        state, head = rebuild(stage.entries())
        assert list(state.objects.cluster_queues) == ["team-a", "team-b"]
        assert (state.seq, head) == (leader.head.seq, leader.head)
        assert state.objects == leader.state.objects

    play(story)


def test_a_start_publishes_what_its_predecessor_committed_and_did_not() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        await stage.say(*first_round())
        stage.ledger.fails_after.append(FencedError("us", "killed behind the commit"))
        with pytest.raises(FencedError):
            await run_turn(leader)
        assert not stage.all_is_published()
        await stage.leader()
        assert stage.all_is_published()

    play(story)


def test_events_that_were_lost_from_the_end_are_published_again() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        await stage.say(*first_round())
        await run_turn(leader)
        kept = list(stage.bus.events.after(0))
        stage.bus.events.roll_back(kept[1].at.seq)
        await stage.leader()
        assert stage.all_is_published()

    play(story)


def test_a_ledger_that_lost_its_tail_does_not_lead() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        tail = seal(leader.head, 1, "local", [TimePassed(at_us=1)])
        await stage.bus.event_publisher().publish("led", leader.counts, tail)
        with pytest.raises(LostTailError) as caught:
            await open_leader_state(stage.deps(), stage.lead())
        assert (caught.value.expected, caught.value.actual) == (2, 3)

    play(story)


@pytest.mark.parametrize("former", [0, 3])
def test_a_ledger_that_lost_its_tail_does_not_lead_where_events_was_made_anew_since(
    former: int,
) -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        rows = stage.entries()
        tail = seal(leader.head, 1, "local", [TimePassed(at_us=1)])
        stage.bus.events.recreate()
        _, counts = await stage.bus.event_publisher().last_published(Position())
        other = seal(GENESIS, 1, "local", [TimePassed(at_us=1)] * former)
        await stage.bus.event_publisher().publish("lost before", counts, other)
        behind = Position(counts.incarnation, len(other))
        await stage.bus.event_publisher().publish("led", behind, [*rows, *tail])
        with pytest.raises(LostTailError) as caught:
            await open_leader_state(stage.deps(), stage.lead())
        assert (caught.value.expected, caught.value.actual) == (2, 3)

    play(story)


def test_a_new_ledger_begins_behind_what_a_lost_one_published() -> None:
    async def story(stage: Stage) -> None:
        first = await stage.leader()
        lost = len(stage.entries())
        with ledger() as (stage.ledger, stage.snapshots):
            deps = dataclasses.replace(stage.deps(), new_ledger_id=lambda: "another")
            leader = await open_leader_state(deps, stage.lead())
            await run_first_turn(leader)
            assert leader.counts == Position(first.counts.incarnation, lost)
            assert stage.types() == ["LedgerOpened", "PolicyConfigured"]
            assert stage.published()[lost:] == [entry.payload.encode() for entry in stage.entries()]

    play(story)


def test_a_writer_that_was_replaced_publishes_nothing() -> None:
    async def story(stage: Stage) -> None:
        elder = await stage.leader("elder")
        await stage.say(*first_round())
        younger = await stage.leader("younger")
        await run_turn(younger)
        elder.head, elder.published = younger.head, 0
        await publish(elder, stage.entries())  # they are there
        elder.published = 0
        with pytest.raises(FencedError):
            await publish(elder, ())
        assert stage.all_is_published()

    play(story)


def test_the_first_turn_of_a_term_decides_what_the_last_one_could_not() -> None:
    async def story(stage: Stage) -> None:
        leader = await open_leader_state(stage.deps(), stage.lead())
        assert leader.more
        await run_first_turn(leader)
        assert not leader.more

    play(story)
