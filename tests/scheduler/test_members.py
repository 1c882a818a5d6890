"""A scheduler with member clusters: one turn over several streams, each with its own position."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from scheduler.dependencies import Dependencies
from scheduler.leader_state import LeaderState, open_leader_state
from scheduler.term import schedule
from scheduler.turn import run_first_turn, run_turn
from tests.bus.memory.all_ports import MemoryBus
from tests.scheduler.stage import Stage, first_round, play, queue, until
from tests.scheduler.test_poison import defined, poison, refused
from tidegate.contracts.codec import decode, encode
from tidegate.contracts.entry import Message, Position
from tidegate.contracts.facts import GapObserved, WatchesExpected
from tidegate.contracts.observations import Heartbeat, Observation, Probe
from tidegate.contracts.subjects import observed_subject
from tidegate.errors import BusRefusedError, BusUnreachableError, TidegateError
from tidegate.model.policy import Policy

POLICY = Policy(member_clusters=("east", "west"))


@dataclass(frozen=True)
class Unreadable:
    """A stream that cannot be read."""

    error: TidegateError

    async def start_position(self) -> Position:
        return Position()

    async def pull(self, after: Position, *, count_max: int, wait_s: float) -> Sequence[Message]:
        del after, count_max, wait_s
        raise self.error

    async def purge_through(self, position: Position) -> None:
        del position
        raise self.error

    async def request_resync(self, reason: str) -> None:
        del reason


@dataclass
class Member:
    """A member cluster's bus."""

    name: str
    bus: MemoryBus = field(default_factory=MemoryBus)
    said: int = 0

    async def say(self, *values: Observation | bytes) -> None:
        for value in values:
            self.said += 1
            payload = value if isinstance(value, bytes) else encode(value)
            subject = observed_subject(self.name, "jobs.batch", "team", "any")
            await self.bus.observation_publisher().publish(
                subject, payload, f"{self.name}:{self.said}"
            )

    def beat(self, number: int) -> Heartbeat:
        return Heartbeat(session=f"s-{self.name}", beat=number, resources=("jobs.batch",))


def with_members(stage: Stage, *members: Member, holder: str = "one") -> Dependencies:
    inboxes = {member.name: member.bus.observation_reader() for member in members}
    return replace(stage.deps(holder, POLICY), members=inboxes)


async def led(stage: Stage, *members: Member, holder: str = "one") -> LeaderState:
    deps = with_members(stage, *members, holder=holder)
    leader = await open_leader_state(deps, stage.lead(holder))
    await run_first_turn(leader)
    return leader


async def turns(leader: LeaderState, count: int = 6) -> None:
    for _ in range(count):
        await run_turn(leader)
    await leader.members.cancel_pulls()


def test_one_turn_takes_what_each_stream_gave_and_commits_each_position() -> None:
    async def story(stage: Stage) -> None:
        east, west = Member("east"), Member("west")
        leader = await led(stage, east, west)
        await stage.say(*first_round())
        await east.say(east.beat(1))
        await west.say(west.beat(1), west.beat(2))
        await turns(leader)
        expected = [
            event.resources
            for entry in stage.entries()
            if isinstance(event := decode(entry.payload), WatchesExpected)
        ]
        assert expected[-1][1:] == ("jobs.batch@east", "jobs.batch@west")
        term = stage.lead("two")
        assert term.observations == stage.bus.observations.end
        ends = {member.name: member.bus.observations.end for member in (east, west)}
        assert term.members == ends
        assert list(east.bus.observations.after(0)) == [], "what is in the ledger is forgotten"

    play(story)


def test_a_member_is_asked_for_everything_when_nothing_was_read_of_it_yet() -> None:
    async def story(stage: Stage) -> None:
        east = Member("east")
        await east.say(Probe(), Probe())
        leader = await led(stage, east)
        assert leader.members.by_name["east"].accepted == east.bus.observations.end
        assert len(list(east.bus.resyncs.after(0))) == 1
        await east.say(Probe())
        await turns(leader)
        again = await led(stage, east, holder="two")
        assert again.members.by_name["east"].accepted == east.bus.observations.end
        assert len(list(east.bus.resyncs.after(0))) == 1, "the ledger knows where it stands"

    play(story)


def test_a_loss_in_one_stream_is_asked_for_of_that_cluster_alone() -> None:
    async def story(stage: Stage) -> None:
        east, west = Member("east"), Member("west")
        leader = await led(stage, east, west)
        await stage.say(*first_round())
        await east.say(Probe(), Probe(), Probe())
        await turns(leader)
        asked = [len(list(member.bus.resyncs.after(0))) for member in (east, west)]
        await east.say(Probe(), Probe())
        east.bus.observations.purge(east.bus.observations.end.seq - 1)
        await turns(leader)
        gaps = [
            event
            for entry in stage.entries()
            if isinstance(event := decode(entry.payload), GapObserved)
        ]
        assert [gap.cluster for gap in gaps] == ["east"]
        after = [len(list(member.bus.resyncs.after(0))) for member in (east, west)]
        assert after == [asked[0] + 1, asked[1]]

    play(story)


@pytest.mark.parametrize(
    "error", [BusUnreachableError("no answer"), BusRefusedError(10_008, "no right")]
)
def test_a_stream_that_cannot_be_read_delays_no_other(error: TidegateError) -> None:
    async def story(stage: Stage) -> None:
        west = Member("west")
        deps = with_members(stage, west)
        deps = replace(deps, members={"east": Unreadable(error), **deps.members})
        stopping = asyncio.Event()
        leading = asyncio.ensure_future(schedule(deps, stopping, Random(1)))
        await until(lambda: deps.status.role == "leading")
        await stage.say(*first_round(), queue("after", 9))
        await west.say(west.beat(1))
        await until(lambda: "after" in defined(stage) and "WatchesExpected" in stage.types())
        assert deps.status.role == "leading"
        stopping.set()
        await leading

    play(story)


def _is_read(leader: LeaderState, *members: Member) -> bool:
    ends = [(member.name, member.bus.observations.end) for member in members]
    return all(leader.members.by_name[name].committed == end for name, end in ends)


def test_what_makes_a_turn_fail_is_found_though_several_streams_gave_something() -> None:
    async def story(stage: Stage) -> None:
        east, west = Member("east"), Member("west")
        deps, stopping = with_members(stage, east, west), asyncio.Event()
        leading = asyncio.ensure_future(schedule(deps, stopping, Random(1)))
        await until(lambda: deps.status.role == "leading")
        await stage.say(*first_round())
        await east.say(east.beat(1), poison(), east.beat(2))
        await west.say(west.beat(1), west.beat(2))
        await stage.say(queue("after", 9))
        await until(lambda: "after" in defined(stage) and bool(refused(stage)))
        read = deps.status.leader
        assert read is not None
        await until(
            lambda: read.members.uncommitted_positions() == {} and _is_read(read, east, west)
        )
        stopping.set()
        await leading
        assert len(refused(stage)) == 1
        positions = stage.lead("two").members
        assert positions == {member.name: member.bus.observations.end for member in (east, west)}

    play(story)
