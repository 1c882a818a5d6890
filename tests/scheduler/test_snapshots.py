"""A start from a snapshot is the start from the first entry, only shorter."""

from __future__ import annotations

from scheduler.leader_state import LeaderState, open_leader_state
from scheduler.snapshots import write_snapshot
from scheduler.turn import run_first_turn, run_turn
from tests.scheduler.stage import Stage, first_round, play, queue
from tidegate.contracts.entry import Snapshot
from tidegate.core.folding import snapshot
from tidegate.replay.rebuild import rebuild


async def desk_that_keeps(stage: Stage) -> LeaderState:
    leader = await open_leader_state(stage.deps(snapshot_entries=5), stage.lead())
    await run_first_turn(leader)
    return leader


def test_a_start_reads_only_what_follows_the_newest_snapshot() -> None:
    async def story(stage: Stage) -> None:
        leader = await desk_that_keeps(stage)
        await stage.say(*first_round())
        await run_turn(leader)
        kept = stage.snapshots.newest(snapshot.VERSION)
        assert kept is not None
        assert kept.seq == leader.head.seq > 5
        await stage.say(queue("team-b", 9))
        await run_turn(leader)
        stage.ledger.read_after.clear()
        again = await stage.leader()
        assert min(stage.ledger.read_after) == kept.seq - 1
        folded, head = rebuild(stage.entries())
        assert again.head == head
        assert snapshot.encode(again.state) == snapshot.encode(folded)

    play(story)


def test_bytes_that_cannot_be_read_are_passed_over() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        await stage.say(*first_round())
        await run_turn(leader)
        broken = Snapshot(
            seq=leader.head.seq, version=snapshot.VERSION, state=b"?", head=leader.head.hash
        )
        stage.snapshots.write(broken)
        assert (await stage.leader()).state.objects == leader.state.objects

    play(story)


def test_a_state_that_cannot_be_written_stops_no_decision() -> None:
    """Three jobs of 9,000,000,000,000,000 CPUs in a queue without a limit, and a budget."""

    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        leader.state.cycle = 1 << 70
        await write_snapshot(stage.deps(), leader.state, leader.head)
        assert stage.snapshots.newest(snapshot.VERSION) is None

    play(story)


def test_no_more_snapshots_are_written_than_asked_for() -> None:
    async def story(stage: Stage) -> None:
        leader = await desk_that_keeps(stage)
        await stage.say(*first_round())
        await run_turn(leader)
        first = stage.snapshots.newest(snapshot.VERSION)
        await stage.say(queue("team-b", 9))
        await run_turn(leader)
        assert stage.snapshots.newest(snapshot.VERSION) == first

    play(story)
