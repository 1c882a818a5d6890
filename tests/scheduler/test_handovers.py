"""A tree that moves between two schedulers over one stream, though one of them ends midway."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from scheduler.leader_state import LeaderState
from scheduler.turn import run_turn
from tests.core.telling import FLAVORS, JOBS, RUNNING, beat, completed, flavor, job, started
from tests.scheduler.test_partitions import LOCAL_QUEUES, QUEUES, Site, lead, play, queue
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import QuotaReserved, StopOrdered
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import WorkloadAdopted
from tidegate.contracts.observations import NamespaceObserved

ENDS = range(9)
TEAM = NamespaceObserved(name="team", uid="ns", version=1, session="a")


class Cluster:
    """One queue and one job, and the schedulers of two partitions."""

    def __init__(self, site: Site) -> None:
        self.site, self.leaders = site, list[LeaderState]()
        self.queue, self.job = queue("first", 0), job("a", queue="zero")
        self.rounds = 0

    async def begin(self) -> None:
        await self.order()
        await self.run()

    async def order(self) -> None:
        """Let the job be started, and not seen to run."""
        self.leaders = [await self.site.leader(number) for number in range(2)]
        await self.site.say(FLAVORS, flavor("default"))
        await self.site.say("namespaces", TEAM)
        await self.list()
        await self.turns()

    async def run(self) -> None:
        """Let the job be seen to run."""
        seqs = [entry.seq for entry in self.site.entries(0) if entry.type == "StartOrdered"]
        mark = f"ledger-0/{seqs[-1]}"
        self.job = replace(self.job, state=replace(RUNNING, decision=mark), version=20)
        await self.site.say(JOBS, self.job)

    async def list(self) -> None:
        self.rounds += 1
        row = ((QUEUES, self.queue), (LOCAL_QUEUES, lead("zero", "first")), (JOBS, self.job))
        await self.site.say("probes", beat(self.rounds, QUEUES, LOCAL_QUEUES, JOBS))
        for resource, each in row:
            await self.site.say(resource, started(resource, self.rounds))
            await self.site.say(resource, replace(each, round=self.rounds))
            end = completed(30, each.uid, resource=resource, number=self.rounds)
            await self.site.say(resource, end)

    async def turns(self) -> None:
        """Let each scheduler run some turns, and ingest list everything if one asks for it."""
        before = len(self.site.resyncs())
        for _ in range(3):
            for leader in self.leaders:
                await run_turn(leader)
        if len(self.site.resyncs()) > before:
            await self.list()

    async def move(self) -> None:
        self.queue = replace(self.queue, move_to=1, version=25)
        await self.site.say(QUEUES, self.queue)


def assignments(entries: list[Entry], kind: type[QuotaReserved | WorkloadAdopted]) -> list[object]:
    events = [decode(entry.payload) for entry in entries]
    return [event.assignment for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("end", ENDS)
def test_a_scheduler_that_ends_midway_goes_on_with_the_move(end: int) -> None:
    async def story(site: Site) -> None:
        cluster = Cluster(site)
        await cluster.begin()
        await cluster.move()
        for step in range(12):
            if step == end:
                number = end % 2
                site.ledgers[number].renew_term(cluster.leaders[number].epoch, 0)
                cluster.leaders[number] = await site.leader(number)
            await asyncio.sleep(2)
            await cluster.turns()
            await site.say("probes", beat(100 + step, QUEUES, LOCAL_QUEUES, JOBS))
        first, second = (site.entries(number) for number in range(2))
        assert assignments(second, WorkloadAdopted) == assignments(first, QuotaReserved)
        assert not [e for e in first + second if e.type == StopOrdered.__name__]
        states = [leader.state for leader in cluster.leaders]
        assert [list(state.workloads) for state in states] == [[], [cluster.job.workload]]
        assert states[1].readiness["first"][:2] == (True, "Ready")
        assert (states[0].moves.released, states[1].moves.taking) == ({}, {})

    play(story)
