"""A ledger of two partitions between which a tree moves, made by their schedulers over one bus.

The ClusterQueue ``first`` is in partition 0 and moves to 1, where ``second`` is; a job runs in
each, one waits behind it, and ``lone`` stays with what waits there in partition 0.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from scheduler.leader_state import LeaderState
from scheduler.turn import run_turn
from store.access.engine import open_engine
from store.schema.migrate import upgrade
from tests.bus.memory.all_ports import EPOCH_US, MemoryBus
from tests.core.telling import FLAVORS, JOBS, RUNNING, beat, completed, flavor, job, started
from tests.parts.virtual import run_virtually
from tests.scheduler.test_partitions import LOCAL_QUEUES, QUEUES, Site, lead, queue
from tidegate.contracts.observations import ClusterQueueObserved, JobObserved, NamespaceObserved
from tidegate.model.podset import Container, PodSet
from tidegate.model.quota import Budget

NAMESPACES = "namespaces"
RESOURCES = (NAMESPACES, FLAVORS, QUEUES, LOCAL_QUEUES, JOBS)
LARGE = (PodSet(containers=(Container(requests={"cpu": "4"}),)),)
HOMES = {"first": 0, "second": 1, "lone": 0}
WORKLOADS = {f"team/job-uid-{name}-{kind}" for name in HOMES for kind in ("runs", "waits")}
"""What there is from the first turn on."""
Said = Callable[[str], None]


class World:
    """Two schedulers, and what ingest sees of the cluster."""

    def __init__(self, site: Site) -> None:
        self.site, self.leaders, self.rounds, self.beats = site, list[LeaderState](), 0, 100
        self.queues = {name: _with_budget(queue(name, home)) for name, home in HOMES.items()}
        made = enumerate((name, kind) for name in HOMES for kind in ("runs", "waits"))
        self.jobs: dict[str, JobObserved] = {
            f"{name}-{kind}": job(
                f"{name}-{kind}",
                queue=f"to-{name}",
                created_us=EPOCH_US + number,
                podsets=LARGE if kind == "waits" else job().podsets,
            )
            for number, (name, kind) in made
        }

    async def live(self, until_moved: Said = lambda _: None) -> None:
        """Let jobs run and wait, then move a tree; what listens hears of each step."""
        self.leaders = [await self.site.leader(number) for number in range(2)]
        await self.list()
        await self.turns()
        for name in HOMES:
            await self.run(f"{name}-runs")
        await self.turns()
        until_moved("running")
        self.queues["first"] = replace(self.queues["first"], move_to=1, version=25)
        await self.site.say(QUEUES, self.queues["first"])
        for _ in range(8):
            await self.turns()
        until_moved("moved")

    async def turns(self) -> None:
        """Let each scheduler take some turns, seconds after the last, and ingest list if asked."""
        asked = len(self.site.resyncs())
        for _ in range(3):
            for leader in self.leaders:
                await asyncio.sleep(1)
                await run_turn(leader)
        if len(self.site.resyncs()) > asked:
            await self.list()
        self.beats += 1
        await self.site.say("probes", beat(self.beats, *RESOURCES))

    async def run(self, name: str) -> None:
        """Let a job be seen to run as it was ordered to."""
        mine = self.jobs[name]
        for number in range(2):
            for entry in self.site.entries(number):
                if entry.type == "StartOrdered" and mine.workload in entry.payload:
                    mark = f"ledger-{number}/{entry.seq}"
                    state = replace(RUNNING, decision=mark)
                    self.jobs[name] = replace(mine, state=state, version=20)
        await self.site.say(JOBS, self.jobs[name])

    async def list(self) -> None:
        """Let ingest list everything."""
        self.rounds += 1
        fields: dict[str, list[Any]] = {
            NAMESPACES: [NamespaceObserved(name="team", uid="ns", version=1, session="a")],
            FLAVORS: [flavor("default")],
            QUEUES: list(self.queues.values()),
            LOCAL_QUEUES: [lead(f"to-{name}", name) for name in HOMES],
            JOBS: list(self.jobs.values()),
        }
        await self.site.say("probes", beat(self.rounds, *RESOURCES))
        for resource, each in fields.items():
            await self.site.say(resource, started(resource, self.rounds))
            await self.site.say(
                resource, *(replace(observation, round=self.rounds) for observation in each)
            )
            present = [observation.uid for observation in each]
            end = completed(30, *present, resource=resource, number=self.rounds)
            await self.site.say(resource, end)


def _with_budget(made: ClusterQueueObserved) -> ClusterQueueObserved:
    budgets = (Budget(resource="cpu", hours=1_000_000, period="month"),)
    return replace(made, spec=replace(made.spec, budgets=budgets))


def write(url: str, listening: Said = lambda _: None) -> None:
    """Write the ledger to an empty database."""

    async def run_story() -> None:
        await World(Site(MemoryBus(), engine)).live(listening)

    engine = open_engine(url)
    try:
        upgrade(engine)
        run_virtually(run_story())
    finally:
        engine.dispose()
