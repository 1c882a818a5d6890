"""One of several schedulers leads; a leader that loses its term stands by, and none is in doubt."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from scheduler.dependencies import Dependencies
from scheduler.term import schedule
from tests.scheduler.stage import Stage, beat, first_round, play, queue, until
from tidegate.bus.ports import ObservationReader
from tidegate.contracts.chain import seal
from tidegate.contracts.entry import Message, Position
from tidegate.contracts.facts import TimePassed
from tidegate.errors import (
    BusUnreachableError,
    CommitUnknownError,
    LedgerUnreachableError,
)

TROUBLES = [
    LedgerUnreachableError("no disk"),
    CommitUnknownError("cut off"),
    BusUnreachableError("no bus"),
]


class Running:
    """One scheduler at work."""

    def __init__(self, deps: Dependencies, seed: int = 1) -> None:
        self.deps, self.stopping = deps, asyncio.Event()
        self.task = asyncio.ensure_future(schedule(deps, self.stopping, Random(seed)))

    @property
    def leads(self) -> bool:
        return self.deps.status.role == "leading"

    async def stop(self) -> None:
        self.stopping.set()
        await self.task


def test_one_leads_and_the_other_takes_over_at_once_when_it_leaves() -> None:
    async def story(stage: Stage) -> None:
        loop = asyncio.get_running_loop()
        elder = Running(stage.deps("elder"))
        await until(lambda: elder.leads)
        younger = Running(stage.deps("younger"))
        await asyncio.sleep(60)
        assert (elder.leads, younger.leads) == (True, False)
        assert younger.deps.status.role == "standby"
        await elder.stop()
        left = loop.time()
        await until(lambda: younger.leads)
        assert loop.time() - left < younger.deps.pace.lease_s / 2
        await younger.stop()
        assert stage.all_is_published()

    play(story)


def test_a_leader_that_falls_silent_is_replaced_and_stands_by_when_it_wakes() -> None:
    async def story(stage: Stage) -> None:
        deps = stage.deps("elder")
        sleeping = asyncio.Event()
        elder = Running(replace_run(deps, sleeping))
        await until(lambda: elder.leads)
        sleeping.set()
        younger = Running(stage.deps("younger"))
        await until(lambda: younger.leads)
        await stage.say(*first_round())
        sleeping.clear()
        await until(lambda: elder.deps.status.role == "standby")
        await until(lambda: "ClusterQueueDefined" in stage.types())
        assert {entry.epoch for entry in stage.entries()} == {1, 2}
        for scheduler in (elder, younger):
            await scheduler.stop()
        assert stage.all_is_published()

    play(story)


def test_a_stop_in_the_middle_of_a_turn_lets_it_end() -> None:
    async def story(stage: Stage) -> None:
        running = Running(stage.deps())
        await until(lambda: running.leads)
        stage.ledger.behind_commit.append(running.stopping.set)
        await stage.say(*first_round())
        await running.task
        assert len(stage.entries()) > 2
        assert stage.all_is_published()
        unread = stage.lead().observations.seq + 1
        assert unread in [record.at.seq for record in stage.bus.observations.after(0)]
        assert running.deps.status.role == "stopped"

    play(story)


def test_trouble_that_passes_is_waited_out() -> None:
    async def story(stage: Stage) -> None:
        running = Running(stage.deps())
        await until(lambda: running.leads)
        await stage.say(*first_round())
        await until(lambda: "ClusterQueueDefined" in stage.types())
        for number, trouble in enumerate(TROUBLES):
            stage.ledger.fails_before.append(trouble)
            await stage.say(queue("q", 10 + number))
            await until(lambda: not stage.ledger.fails_before and running.leads)
        await until(lambda: stage.types().count("ClusterQueueDefined") >= 2)
        await running.stop()
        assert stage.all_is_published()

    play(story)


def test_a_lost_tail_is_reported_and_no_replica_leads_until_it_is_mended() -> None:
    async def story(stage: Stage) -> None:
        leader = await stage.leader()
        lost = seal(leader.head, 1, "local", [TimePassed(at_us=1)])
        await stage.bus.event_publisher().publish("led", leader.counts, lost)
        running = Running(stage.deps())
        await asyncio.sleep(100)
        assert not running.leads
        assert "tidegate ledger recover" in running.deps.status.not_ready_reason()
        stage.bus.events.recreate()
        await until(lambda: running.leads)
        assert running.deps.status.not_ready_reason() == ""
        await running.stop()

    play(story)


def test_a_bus_that_is_gone_for_a_while_costs_no_term() -> None:
    async def story(stage: Stage) -> None:
        running = Running(stage.deps())
        await until(lambda: running.leads)
        await stage.say(*first_round())
        await until(lambda: stage.bus.observations.count == 0)
        stage.bus.fate.chances["unreachable"] = 1.0
        await asyncio.sleep(30)
        assert running.deps.status.not_ready_reason()
        stage.bus.fate.calm()
        await stage.say(beat(40))
        await until(lambda: stage.bus.observations.count == 0)
        assert {entry.epoch for entry in stage.entries()} == {1}
        await running.stop()

    play(story)


def test_a_leader_that_hangs_says_so_and_a_standby_does_not() -> None:
    async def story(stage: Stage) -> None:
        deps, sleeping = stage.deps(), asyncio.Event()
        running = Running(replace_run(deps, sleeping))
        await until(lambda: running.leads)
        await asyncio.sleep(200)
        assert deps.status.stuck_reason() == ""
        sleeping.set()
        await stage.say(*first_round())
        await asyncio.sleep(200)
        assert "no turn ended" in deps.status.stuck_reason()
        sleeping.clear()
        await until(lambda: not deps.status.stuck_reason())
        await running.stop()

    play(story)


def replace_run(deps: Dependencies, sleeping: asyncio.Event) -> Dependencies:
    """Return means whose blocking work waits while ``sleeping`` is set: a process that stalls."""

    async def run(work):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - generic, as the port
        while sleeping.is_set():
            await asyncio.sleep(1)
        return work()

    return Dependencies(
        **{
            name: getattr(deps, name)
            for name in Dependencies.__dataclass_fields__
            if name != "run_sync"
        },
        run_sync=run,
    )


def test_what_comes_while_a_busy_leader_rests_is_read_in_one_turn() -> None:
    async def story(stage: Stage) -> None:
        calm = stage.deps()
        resting = replace(calm.pace, rest_s=0.5)
        leader = Running(dataclasses.replace(calm, pace=resting))
        await until(lambda: leader.leads)
        await stage.say(*first_round())
        await until(lambda: stage.bus.observations.count == 0)
        await asyncio.gather(*(stage.say(queue(f"queue-{number}", 9)) for number in range(9)))
        await until(lambda: any("queue-8" in entry.payload for entry in stage.entries()))
        for number in range(5):
            await stage.say(queue(f"later-{number}", 20))
            await asyncio.sleep(0.05)
        await until(lambda: any("later-4" in entry.payload for entry in stage.entries()))
        later = {entry.turn for entry in stage.entries() if "later-" in entry.payload}
        assert len(later) == 1
        await leader.stop()

    play(story)


def test_a_leader_that_reads_and_accepts_nothing_is_not_ready_and_does_not_spin() -> None:
    async def story(stage: Stage) -> None:
        reader = Repeating(stage.bus.observation_reader())
        running = Running(dataclasses.replace(stage.deps(), observation_reader=reader))
        await until(lambda: running.leads)
        await stage.say(*first_round())
        reader.repeats = True
        await until(lambda: bool(running.deps.status.deaf))
        assert "none follows position" in running.deps.status.not_ready_reason()
        before = reader.pulls
        await asyncio.sleep(10)
        assert reader.pulls - before <= 10 / running.deps.pace.retry_s
        reader.repeats = False
        await until(lambda: not running.deps.status.not_ready_reason())
        await running.stop()

    play(story)


class Repeating:
    """An inbox that gives what was read before, for as long as a test wants."""

    def __init__(self, reader: ObservationReader) -> None:
        self.request_resync, self.purge_through = reader.request_resync, reader.purge_through
        self.start_position = reader.start_position
        self._reader, self.repeats, self.pulls = reader, False, 0
        self._last = list[Message]()

    async def pull(self, after: Position, *, count_max: int, wait_s: float) -> Sequence[Message]:
        self.pulls += 1
        if self.repeats and self._last:
            return self._last
        messages = await self._reader.pull(after, count_max=count_max, wait_s=wait_s)
        self._last = [*messages] or self._last
        return messages
