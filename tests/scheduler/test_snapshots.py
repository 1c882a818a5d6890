"""A start from a snapshot is the start from the first entry, only shorter."""

from __future__ import annotations

from scheduler.desk import Desk, open_desk
from scheduler.turn import first_turn, turn
from tests.scheduler.stage import Stage, first_round, play, queue
from tidegate.contracts.entry import Snapshot
from tidegate.core import snapshot
from tidegate.replay.rebuild import rebuild


async def desk_that_keeps(stage: Stage) -> Desk:
    desk = await open_desk(stage.means(snapshot_entries=5), stage.lead())
    await first_turn(desk)
    return desk


def test_a_start_reads_only_what_follows_the_newest_snapshot() -> None:
    async def story(stage: Stage) -> None:
        desk = await desk_that_keeps(stage)
        await stage.say(*first_round())
        await turn(desk)
        kept = stage.snapshots.newest(snapshot.VERSION)
        assert kept is not None
        assert kept.seq == desk.head.seq > 5
        await stage.say(queue("team-b", 9))
        await turn(desk)
        stage.ledger.read_after.clear()
        again = await stage.desk()
        assert min(stage.ledger.read_after) == kept.seq - 1
        folded, head = rebuild(stage.entries())
        assert again.head == head
        assert snapshot.encode(again.draft) == snapshot.encode(folded)

    play(story)


def test_bytes_that_cannot_be_read_are_passed_over() -> None:
    async def story(stage: Stage) -> None:
        desk = await stage.desk()
        await stage.say(*first_round())
        await turn(desk)
        broken = Snapshot(
            seq=desk.head.seq, version=snapshot.VERSION, state=b"?", head=desk.head.hash
        )
        stage.snapshots.write(broken)
        assert (await stage.desk()).draft.objects == desk.draft.objects

    play(story)


def test_no_more_snapshots_are_written_than_asked_for() -> None:
    async def story(stage: Stage) -> None:
        desk = await desk_that_keeps(stage)
        await stage.say(*first_round())
        await turn(desk)
        first = stage.snapshots.newest(snapshot.VERSION)
        await stage.say(queue("team-b", 9))
        await turn(desk)
        assert stage.snapshots.newest(snapshot.VERSION) == first

    play(story)
